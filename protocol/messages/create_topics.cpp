// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/create_topics.h"

#include "protocol/codec.h"

namespace lastword {

template struct Codec<CreateTopicsRequest>;
template struct Codec<CreateTopicsResponse>;

}  // namespace lastword
