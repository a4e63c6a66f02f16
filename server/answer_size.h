// SPDX-License-Identifier: Apache-2.0
// About how much memory an answer takes, decoded and encoded, from what its request asks for.
//
// Purpose   a small request can ask for a large answer, and its client need not take it. What an
//           answer takes is charged to limits.request_memory_bytes before it is made, until it is
//           sent. Records of a fetch are not in it: they are sent from their files.
// Threads   pure but for the store's lookups, which never block.
// Lifetime  free functions.
#pragma once

#include <cstddef>

#include "server/handlers.h"

namespace lastword::server {

std::size_t answer_bytes(const Context& context, const Request& info,
                         const ProduceRequest& request);
std::size_t answer_bytes(const Context& context, const Request& info, const FetchRequest& request);
std::size_t answer_bytes(const Context& context, const Request& info,
                         const ListOffsetsRequest& request);
std::size_t answer_bytes(const Context& context, const Request& info,
                         const MetadataRequest& request);
std::size_t answer_bytes(const Context& context, const Request& info,
                         const FindCoordinatorRequest& request);
std::size_t answer_bytes(const Context& context, const Request& info,
                         const CreateTopicsRequest& request);
std::size_t answer_bytes(const Context& context, const Request& info,
                         const DeleteTopicsRequest& request);
std::size_t answer_bytes(const Context& context, const Request& info,
                         const InitProducerIdRequest& request);
std::size_t answer_bytes(const Context& context, const Request& info,
                         const OffsetForLeaderEpochRequest& request);
std::size_t answer_bytes(const Context& context, const Request& info,
                         const DescribeConfigsRequest& request);

}  // namespace lastword::server
