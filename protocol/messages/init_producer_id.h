// SPDX-License-Identifier: Apache-2.0
// A producer id for an idempotent producer. Key 22.
//
// Threads   plain data.
// Lifetime  owns what it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/error_code.h"
#include "protocol/messages/apis.h"

namespace lastword {

struct InitProducerIdRequest {
  std::optional<std::string> transactional_id{};
  std::int32_t transaction_timeout_ms = 0;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;

  static constexpr const Api& api = kInitProducerIdApi;
  static void fields(auto& walk) {
    walk("transactional_id", &InitProducerIdRequest::transactional_id);
    walk("transaction_timeout_ms", &InitProducerIdRequest::transaction_timeout_ms);
    walk("producer_id", &InitProducerIdRequest::producer_id, since(3));
    walk("producer_epoch", &InitProducerIdRequest::producer_epoch, since(3));
  }
};

struct InitProducerIdResponse {
  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = 0;

  static constexpr const Api& api = kInitProducerIdApi;
  static void fields(auto& walk) {
    walk("throttle_time_ms", &InitProducerIdResponse::throttle_time_ms);
    walk("error_code", &InitProducerIdResponse::error_code);
    walk("producer_id", &InitProducerIdResponse::producer_id);
    walk("producer_epoch", &InitProducerIdResponse::producer_epoch);
  }
};

}  // namespace lastword
