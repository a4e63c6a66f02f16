// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/init_producer_id.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<InitProducerIdRequest>;
template struct MessageCodec<InitProducerIdResponse>;

}  // namespace lastword
