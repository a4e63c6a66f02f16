// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/api_versions.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<ApiVersionsRequest>;
template struct MessageCodec<ApiVersionsResponse>;

}  // namespace lastword
