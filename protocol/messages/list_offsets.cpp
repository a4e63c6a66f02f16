// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/list_offsets.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<ListOffsetsRequest>;
template struct MessageCodec<ListOffsetsResponse>;

}  // namespace lastword
