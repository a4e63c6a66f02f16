// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/produce.h"

#include "protocol/codec.h"

namespace lastword {

template struct Codec<ProduceRequest>;
template struct Codec<ProduceResponse>;

}  // namespace lastword
