// SPDX-License-Identifier: Apache-2.0
// Errors as values: a kind for programs, a text for people, and Result<T> that may not be ignored.
//
// Threads   plain data.
// Lifetime  owns its text.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <variant>

#include "protocol/check.h"

namespace lastword {

/// What went wrong, as far as a caller acts on it. server/error_map turns it into a wire code.
enum class ErrorKind {
  kOffsetOutOfRange,  // a read outside [log start, log end]
  kCorruptBatch,      // too short, checksum, does not unpack
  kInvalidRecord,     // a rule for records or batches was broken
  kInvalidTimestamp,  // outside before/after max, or a type that the client may not set
  kBatchTooLarge,     // above max.message.bytes
  kUnsupportedCompression,
  kOutOfOrderSequence,
  kInvalidProducerEpoch,
  kStorage,           // an I/O call failed; retriable
  kFenced,            // a sync failed before; the log heals by itself; retriable
  kDiskFull,          // no room, or the reserve is not whole; retriable
  kTooManyOpenFiles,  // limits.open_files; retriable
  kClosed,            // the log was closed or its topic deleted
  kUnknownTopic,
  kTopicExists,
  kInvalidTopicName,
  kInvalidConfig,
  kInvalidPartitions,
  kPolicyViolation,  // an operator's limit or file says no
  kDamaged,          // bytes on disk do not add up
  kCancelled,        // asked to stop
  kNotFound,
  kMalformed,           // a frame or message that does not decode
  kUnsupportedVersion,  // an API or version that is not offered
};

struct Error {
  ErrorKind kind;
  std::string text;  // names the thing and, where there is one, the remedy
};

struct Nothing {};

/// Either a value or an Error. Construct from either; ask with `if (result)`.
template <class T = Nothing>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  Result() requires std::same_as<T, Nothing> : state_(std::in_place_index<0>) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    LW_CHECK(state_.index() == 1);
    return *std::get_if<1>(&state_);
  }
  /// The error, to hand on as the failure of another Result.
  Error take_error() {
    LW_CHECK(state_.index() == 1);
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  T& value() {
    LW_CHECK(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    LW_CHECK(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

}  // namespace lastword

/// Hands a failure on: `LW_TRY(log.sync());`
#define LW_TRY(expression)                                                        \
  do {                                                                            \
    if (auto lw_result = (expression); !lw_result) return lw_result.take_error(); \
  } while (false)

/// The same in a coroutine.
#define LW_CO_TRY(expression)                                                        \
  do {                                                                               \
    if (auto lw_result = (expression); !lw_result) co_return lw_result.take_error(); \
  } while (false)
