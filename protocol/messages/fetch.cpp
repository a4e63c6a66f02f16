// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/fetch.h"

#include "protocol/codec.h"

namespace lastword {

template struct Codec<FetchRequest>;
template struct Codec<FetchResponse>;

}  // namespace lastword
