// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/produce.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<ProduceRequest>;
template struct MessageCodec<ProduceResponse>;

}  // namespace lastword
