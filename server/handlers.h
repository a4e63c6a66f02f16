// SPDX-License-Identifier: Apache-2.0
// One declaration for each API that is served: the request comes in decoded, the response goes out
// as a value. handlers/<api>.cpp holds the body.
//
// Threads   each runs on the loop thread of its connection; what may wait for the disk goes through
//           on() (on.h).
// Lifetime  requests may point into the frame, which lives until the handler has returned (for
//           produce: until its outer coroutine has).
#pragma once

#include <asio/awaitable.hpp>
#include <optional>
#include <span>

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
#include "server/context.h"

namespace lastword::server {

using asio::awaitable;

/// `version_known` is false for a version above ours: then error 35 and the range alone.
ApiVersionsResponse api_versions(const ApiVersionsRequest& request, const Request& info,
                                 bool version_known);
awaitable<CreateTopicsResponse> create_topics(Context& context, const Request& info,
                                              CreateTopicsRequest request);
awaitable<DeleteTopicsResponse> delete_topics(Context& context, const Request& info,
                                              DeleteTopicsRequest request);
awaitable<DescribeConfigsResponse> describe_configs(Context& context, const Request& info,
                                                    DescribeConfigsRequest request);
awaitable<FetchResponse> fetch(Context& context, const Request& info, FetchRequest request);
awaitable<FindCoordinatorResponse> find_coordinator(Context& context, const Request& info,
                                                    FindCoordinatorRequest request);
awaitable<InitProducerIdResponse> init_producer_id(Context& context, const Request& info,
                                                   InitProducerIdRequest request);
awaitable<ListOffsetsResponse> list_offsets(Context& context, const Request& info,
                                            ListOffsetsRequest request);
/// Before version 1 an empty list asks for all topics, since then null does, and empty for none.
bool asks_for_all_topics(const MetadataRequest& request, std::int16_t version);
awaitable<MetadataResponse> metadata(Context& context, const Request& info,
                                     MetadataRequest request);
awaitable<OffsetForLeaderEpochResponse> offset_for_leader_epoch(
    Context& context, const Request& info, OffsetForLeaderEpochRequest request);

/// What a produce leaves behind once its records are written: the answer, which under acks=all
/// comes when they are durable. Awaiting `response` does not need the frame any more. Empty for
/// acks=0; if such a produce failed, `close` says so, since nothing else can.
struct Produced {
  std::optional<awaitable<ProduceResponse>> response{};
  bool close = false;
};
/// Writes the records. `frame` holds what `request` points to; offsets are stamped in place.
awaitable<Produced> produce(Context& context, const Request& info, ProduceRequest request,
                            std::span<std::byte> frame);

}  // namespace lastword::server
