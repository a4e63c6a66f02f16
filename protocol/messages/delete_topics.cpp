// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/delete_topics.h"

#include "protocol/codec.h"

namespace lastword {

template struct Codec<DeleteTopicsRequest>;
template struct Codec<DeleteTopicsResponse>;

}  // namespace lastword
