// SPDX-License-Identifier: Apache-2.0
// FindCoordinator: always this node. For transactions the answer is one that makes clients stop
// instead of asking again and again, since there are none here.
#include "server/handlers.h"

namespace lastword::server {

namespace {

constexpr std::int8_t kGroup = 0;
constexpr std::int16_t kFirstVersionWithList = 4;
constexpr const char* kGroupsOnly =
    "only group coordinators are here: this broker has no transactions";

}  // namespace

awaitable<FindCoordinatorResponse> find_coordinator(Context& context, const Request& info,
                                                    FindCoordinatorRequest request) {
  const Address address = advertised_address(*context.options.load(), info.local);
  const bool good = request.key_type == kGroup;
  FindCoordinatorResponse response;
  if (info.api_version < kFirstVersionWithList) {
    response.error_code = good ? ErrorCode::kNone : ErrorCode::kInvalidRequest;
    if (!good) response.error_message = kGroupsOnly;
    response.node_id = good ? kNodeId : -1;
    response.host = good ? address.host : "";
    response.port = good ? address.port : -1;
    co_return response;
  }
  for (const std::string& key : request.coordinator_keys) {
    auto& coordinator = response.coordinators.emplace_back();
    coordinator.key = key;
    coordinator.node_id = good ? kNodeId : -1;
    coordinator.host = good ? address.host : "";
    coordinator.port = good ? address.port : -1;
    coordinator.error_code = good ? ErrorCode::kNone : ErrorCode::kInvalidRequest;
    if (!good) coordinator.error_message = kGroupsOnly;
  }
  co_return response;
}

}  // namespace lastword::server
