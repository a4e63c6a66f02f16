// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/metadata.h"

#include "protocol/codec.h"

namespace lastword {

template struct Codec<MetadataRequest>;
template struct Codec<MetadataResponse>;

}  // namespace lastword
