// SPDX-License-Identifier: Apache-2.0
// Every message there is, for tests that hold for all of them.
//
// Threads   pure functions.
#pragma once

#include "protocol/messages/api_versions.h"
#include "protocol/messages/create_topics.h"
#include "protocol/messages/delete_topics.h"
#include "protocol/messages/describe_configs.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/find_coordinator.h"
#include "protocol/messages/init_producer_id.h"
#include "protocol/messages/list_offsets.h"
#include "protocol/messages/metadata.h"
#include "protocol/messages/offset_for_leader_epoch.h"
#include "protocol/messages/produce.h"

namespace lastword {

/// Calls `visit.operator()<Request, Response>()` for each API.
template <class Visit>
void for_each_api(Visit visit) {
  visit.template operator()<ProduceRequest, ProduceResponse>();
  visit.template operator()<FetchRequest, FetchResponse>();
  visit.template operator()<ListOffsetsRequest, ListOffsetsResponse>();
  visit.template operator()<MetadataRequest, MetadataResponse>();
  visit.template operator()<FindCoordinatorRequest, FindCoordinatorResponse>();
  visit.template operator()<ApiVersionsRequest, ApiVersionsResponse>();
  visit.template operator()<CreateTopicsRequest, CreateTopicsResponse>();
  visit.template operator()<DeleteTopicsRequest, DeleteTopicsResponse>();
  visit.template operator()<InitProducerIdRequest, InitProducerIdResponse>();
  visit.template operator()<OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse>();
  visit.template operator()<DescribeConfigsRequest, DescribeConfigsResponse>();
}

/// Calls `visit.operator()<Message>(version)` for each message in each version that is served.
template <class Visit>
void for_each_message(Visit visit) {
  for_each_api([&]<class Request, class Response>() {
    const Versions served = Request::api.supported;
    for (std::int16_t v = served.first; v <= served.last; ++v) {
      visit.template operator()<Request>(v);
      visit.template operator()<Response>(v);
    }
  });
}

}  // namespace lastword
