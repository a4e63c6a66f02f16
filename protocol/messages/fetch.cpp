// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/fetch.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<FetchRequest>;
template struct MessageCodec<FetchResponse>;

}  // namespace lastword
