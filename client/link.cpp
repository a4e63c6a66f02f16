// SPDX-License-Identifier: Apache-2.0
#include "client/link.h"

namespace lastword::client {

namespace {

constexpr std::chrono::milliseconds kPauseMin{50};
constexpr std::chrono::milliseconds kPauseMax{1000};

ErrorKind kind_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOffsetOutOfRange:
      return ErrorKind::kOffsetOutOfRange;
    case ErrorCode::kCorruptMessage:
      return ErrorKind::kCorruptBatch;
    case ErrorCode::kUnknownTopicOrPartition:
    case ErrorCode::kUnknownTopicId:
      return ErrorKind::kUnknownTopic;
    case ErrorCode::kMessageTooLarge:
    case ErrorCode::kRecordListTooLarge:
      return ErrorKind::kBatchTooLarge;
    case ErrorCode::kInvalidTopicException:
      return ErrorKind::kInvalidTopicName;
    case ErrorCode::kInvalidTimestamp:
      return ErrorKind::kInvalidTimestamp;
    case ErrorCode::kUnsupportedVersion:
      return ErrorKind::kUnsupportedVersion;
    case ErrorCode::kTopicAlreadyExists:
      return ErrorKind::kTopicExists;
    case ErrorCode::kInvalidPartitions:
      return ErrorKind::kInvalidPartitions;
    case ErrorCode::kInvalidConfig:
      return ErrorKind::kInvalidConfig;
    case ErrorCode::kPolicyViolation:
      return ErrorKind::kPolicyViolation;
    case ErrorCode::kOutOfOrderSequenceNumber:
      return ErrorKind::kOutOfOrderSequence;
    case ErrorCode::kInvalidProducerEpoch:
      return ErrorKind::kInvalidProducerEpoch;
    case ErrorCode::kUnsupportedCompressionType:
      return ErrorKind::kUnsupportedCompression;
    case ErrorCode::kInvalidRecord:
      return ErrorKind::kInvalidRecord;
    default:
      return ErrorKind::kStorage;
  }
}

}  // namespace

Error broker_error(const std::string& what, ErrorCode code, const std::string& message) {
  const ErrorCodeInfo& info = error_code_info(code);
  std::string text = what + ": " + (message.empty() ? std::string(info.text) : message) + " (" +
                     std::string(info.name) + ")";
  return {kind_of(code), std::move(text)};
}

bool Retries::again() {
  if (++attempts_ >= kAttemptsMax) return false;
  std::this_thread::sleep_for(pause_);
  pause_ = std::min(pause_ * 2, kPauseMax);
  return true;
}

Result<Connection*> Link::connection() {
  if (connection_ && connection_->closed_by_peer()) drop();
  if (!connection_) {
    auto opened = Connection::open(setup_);
    if (!opened) return opened.error();
    connection_ = *std::move(opened);
    was_connected_ = true;
  }
  return connection_.get();
}

bool Link::wait_for_broker(const Error& error, int attempt) {
  if (!go_on_ || !was_connected_ || !go_on_(error, attempt)) return false;
  std::this_thread::sleep_for(std::min(kPauseMin * (1 << std::min(attempt - 1, 5)), kPauseMax));
  return true;
}

}  // namespace lastword::client
