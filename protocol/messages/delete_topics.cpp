// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/delete_topics.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<DeleteTopicsRequest>;
template struct MessageCodec<DeleteTopicsResponse>;

}  // namespace lastword
