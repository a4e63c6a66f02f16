// SPDX-License-Identifier: Apache-2.0
#include "server/error_map.h"

namespace lastword::server {

ErrorCode wire_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kOffsetOutOfRange:
      return ErrorCode::kOffsetOutOfRange;
    case ErrorKind::kCorruptBatch:
      return ErrorCode::kCorruptMessage;
    case ErrorKind::kInvalidRecord:
      return ErrorCode::kInvalidRecord;
    case ErrorKind::kInvalidTimestamp:
      return ErrorCode::kInvalidTimestamp;
    case ErrorKind::kBatchTooLarge:
      return ErrorCode::kMessageTooLarge;
    case ErrorKind::kUnsupportedCompression:
      return ErrorCode::kUnsupportedCompressionType;
    case ErrorKind::kOutOfOrderSequence:
      return ErrorCode::kOutOfOrderSequenceNumber;
    case ErrorKind::kInvalidProducerEpoch:
      return ErrorCode::kInvalidProducerEpoch;
    case ErrorKind::kStorage:
    case ErrorKind::kFenced:
    case ErrorKind::kDiskFull:
    case ErrorKind::kTooManyOpenFiles:
    case ErrorKind::kDamaged:
      return ErrorCode::kKafkaStorageError;
    case ErrorKind::kClosed:
      return ErrorCode::kNotLeaderOrFollower;
    case ErrorKind::kUnknownTopic:
    case ErrorKind::kNotFound:
      return ErrorCode::kUnknownTopicOrPartition;
    case ErrorKind::kTopicExists:
      return ErrorCode::kTopicAlreadyExists;
    case ErrorKind::kInvalidTopicName:
      return ErrorCode::kInvalidTopicException;
    case ErrorKind::kInvalidConfig:
      return ErrorCode::kInvalidConfig;
    case ErrorKind::kInvalidPartitions:
      return ErrorCode::kInvalidPartitions;
    case ErrorKind::kPolicyViolation:
      return ErrorCode::kPolicyViolation;
    case ErrorKind::kMalformed:
      return ErrorCode::kInvalidRequest;
    case ErrorKind::kUnsupportedVersion:
      return ErrorCode::kUnsupportedVersion;
    case ErrorKind::kCancelled:
      return ErrorCode::kRequestTimedOut;
  }
  return ErrorCode::kUnknownServerError;
}

ErrorCode for_old_client(ErrorCode code, bool knows_storage_error) {
  if (code == ErrorCode::kKafkaStorageError && !knows_storage_error) {
    return ErrorCode::kNotLeaderOrFollower;
  }
  return code;
}

}  // namespace lastword::server
