// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/metadata.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<MetadataRequest>;
template struct MessageCodec<MetadataResponse>;

}  // namespace lastword
