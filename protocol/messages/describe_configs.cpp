// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/describe_configs.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<DescribeConfigsRequest>;
template struct MessageCodec<DescribeConfigsResponse>;

}  // namespace lastword
