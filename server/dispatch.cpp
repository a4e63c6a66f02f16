// SPDX-License-Identifier: Apache-2.0
#include "server/dispatch.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "protocol/header.h"
#include "server/answer_size.h"
#include "server/handlers.h"

namespace lastword::server {

namespace {

struct Call {
  Context& context;
  const Request& info;
  const Reader& body;
  std::int32_t correlation_id;
  std::span<std::byte> frame;
};

struct Route {
  const Api* api;
  awaitable<Result<Answer>> (*serve)(Call call);
};

// More partitions than a broker has make no sense in one request, and each costs memory.
constexpr DecodeRules kProduceRules{.surplus_ignored = true, .elements_max = 20'000};

Error undecodable(const Error& why) {
  return Error{why.kind, "the request cannot be read: " + why.text};
}

template <Message RequestBody>
awaitable<Result<FrameCharge>> charge_for(const Call& call, const RequestBody& request) {
  if (!call.info.charge) co_return FrameCharge();
  co_return co_await call.info.charge(answer_bytes(call.context, call.info, request));
}

// The usual case: decoded request in, response out.
template <Message RequestBody, auto handler>
awaitable<Result<Answer>> serve(Call call) {
  const std::int16_t version = call.info.api_version;
  auto request = decode_request<RequestBody>(call.body, version);
  if (!request) co_return undecodable(request.error());
  auto charge = co_await charge_for(call, *request);
  if (!charge) co_return charge.take_error();
  const auto response = co_await handler(call.context, call.info, *std::move(request));
  co_return Answer{.parts = encode_response(response, version, call.correlation_id),
                   .charge = *std::move(charge)};
}

awaitable<Parts> encode_later(awaitable<ProduceResponse> response, std::int16_t version,
                              std::int32_t correlation_id) {
  co_return encode_response(co_await std::move(response), version, correlation_id);
}

awaitable<Result<Answer>> serve_produce(Call call) {
  const std::int16_t version = call.info.api_version;
  auto request = decode<ProduceRequest>(call.body.rest(), version, kProduceRules);
  if (!request) co_return undecodable(request.error());
  auto charge = co_await charge_for(call, *request);
  if (!charge) co_return charge.take_error();
  auto produced = co_await produce(call.context, call.info, *std::move(request), call.frame);
  if (produced.close) {
    co_return Error{ErrorKind::kCancelled,
                    "a produce with acks=0 failed, which only closing can tell"};
  }
  if (!produced.response) co_return Answer{};
  co_return Answer{.later = std::make_unique<awaitable<Parts>>(
                       encode_later(*std::move(produced.response), version, call.correlation_id)),
                   .charge = *std::move(charge)};
}

// KIP-511: a version that we don't know is answered in version 0 with what we do know.
awaitable<Result<Answer>> serve_api_versions(Call call) {
  const std::int16_t version = call.info.api_version;
  const bool known = kApiVersionsApi.supported.has(version);
  ApiVersionsRequest request;
  if (known) {
    auto decoded = decode_request<ApiVersionsRequest>(call.body, version);
    if (!decoded) co_return undecodable(decoded.error());
    request = *std::move(decoded);
  }
  const auto response = api_versions(request, call.info, known);
  co_return Answer{
      .parts = encode_response(response, known ? version : std::int16_t{0}, call.correlation_id)};
}

template <Message RequestBody, auto handler>
constexpr Route route() {
  return {&RequestBody::api, serve<RequestBody, handler>};
}

constexpr std::array kRoutes{
    Route{&kProduceApi, serve_produce},
    route<FetchRequest, fetch>(),
    route<ListOffsetsRequest, list_offsets>(),
    route<MetadataRequest, metadata>(),
    route<FindCoordinatorRequest, find_coordinator>(),
    Route{&kApiVersionsApi, serve_api_versions},
    route<CreateTopicsRequest, create_topics>(),
    route<DeleteTopicsRequest, delete_topics>(),
    route<InitProducerIdRequest, init_producer_id>(),
    route<OffsetForLeaderEpochRequest, offset_for_leader_epoch>(),
    route<DescribeConfigsRequest, describe_configs>(),
};
static_assert(kRoutes.size() == kApis.size(), "every API that is announced has a route");

const Route* find_route(std::int16_t key) {
  const auto* found = std::ranges::find(kRoutes, key, [](const Route& r) { return r.api->key; });
  return found == kRoutes.end() ? nullptr : found;
}

Error not_offered(const Request& info) {
  std::string text(api_name(info.api_key));
  text += " (key " + std::to_string(info.api_key) + ") version " + std::to_string(info.api_version);
  if (const Api* api = find_api(info.api_key)) {
    return Error{ErrorKind::kUnsupportedVersion, text + " is not offered, only " +
                                                     std::to_string(api->supported.first) + " to " +
                                                     std::to_string(api->supported.last)};
  }
  return Error{ErrorKind::kUnsupportedVersion, text + " is not offered by this broker"};
}

}  // namespace

asio::awaitable<Result<Answer>> dispatch(Context& context, Request& info,
                                         std::span<std::byte> frame) {
  Reader in{ByteView(frame)};
  const auto header = read_request_header(in);
  if (!header) co_return header.error();
  info.api_key = header->api_key;
  info.api_version = header->api_version;
  if (header->client_id) info.client_id = *header->client_id;

  const Route* route = find_route(info.api_key);
  const bool any_version = route != nullptr && route->api == &kApiVersionsApi;
  if (route == nullptr || (!any_version && !route->api->supported.has(info.api_version))) {
    co_return not_offered(info);
  }
  co_return co_await route->serve({context, info, in, header->correlation_id, frame});
}

}  // namespace lastword::server
