// SPDX-License-Identifier: Apache-2.0
// Memory for request frames: bounded over all connections, reused, grown only as bytes arrive.
//
// Purpose   a client that announces 100 MiB and sends nothing costs next to nothing; many that
//           send at once share limits.request_memory_bytes and wait for each other. Large frames
//           leave a part of it to small ones, so that a few of them don't keep everybody waiting.
// Threads   any.
// Lifetime  the memory outlives every buffer taken from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "storage/mutex.h"

namespace lastword::server {

class FrameMemory;

/// From malloc, so that a large one can grow where it is.
struct FreeMemory {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using RawMemory = std::unique_ptr<std::byte[], FreeMemory>;

/// Bytes of one frame. Gives its memory back when it goes.
class FrameBuffer {
 public:
  FrameBuffer() = default;
  FrameBuffer(FrameBuffer&& other) noexcept { swap(other); }
  FrameBuffer& operator=(FrameBuffer&& other) noexcept {
    FrameBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~FrameBuffer();

  std::span<std::byte> bytes() { return {data_.get(), capacity_}; }
  std::size_t capacity() const { return capacity_; }

 private:
  friend class FrameMemory;
  void swap(FrameBuffer& other) noexcept;
  FrameMemory* memory_ = nullptr;
  RawMemory data_{};
  std::size_t capacity_ = 0;
};

/// A share of the budget without bytes of its own.
class FrameCharge {
 public:
  FrameCharge() = default;
  FrameCharge(FrameCharge&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  FrameCharge& operator=(FrameCharge&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~FrameCharge();
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  friend class FrameMemory;
  FrameMemory* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

class FrameMemory {
 public:
  explicit FrameMemory(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// A first buffer for a frame of `frame_bytes`, or a larger one that holds the first
  /// `keep_bytes` of `buffer`, which is used up. Empty (capacity 0, `buffer` as it was) when the
  /// budget is used up.
  FrameBuffer grow(FrameBuffer& buffer, std::size_t keep_bytes, std::size_t frame_bytes);

  /// What a request or its answer costs besides the frame. Charges take at most half of the budget;
  /// small ones a further quarter, so that others are served while a few large ones wait. Empty
  /// when that is used up.
  FrameCharge charge(std::size_t bytes);
  /// The largest charge that can ever be had.
  std::size_t charge_bytes_max() const { return bytes_max_ / 2; }

  /// Frees what was not used since the last call; from time to time.
  void trim();
  std::size_t used_bytes() const;

 private:
  friend class FrameBuffer;
  friend class FrameCharge;
  // Capacities from 4 KiB, each four times the last; the largest is kept for reuse too.
  static constexpr std::size_t kSmallestBytes = 4096;
  static constexpr std::size_t kClasses = 5;
  static constexpr std::size_t kFirstBytes = kSmallestBytes << 4;  // unless memory is scarce
  static constexpr std::size_t kReusedBytesMax = 16u << 20;        // kept unused, all together
  static constexpr std::size_t kSmallChargeBytes = 64u << 10;

  std::size_t first_bytes() const EXCLUDES(mutex_);
  /// How much may be used in all when a buffer of `capacity` is asked for.
  std::size_t ceiling(std::size_t capacity) const;
  RawMemory take(std::size_t capacity) EXCLUDES(mutex_);
  FrameBuffer stretch(FrameBuffer& buffer, std::size_t capacity) EXCLUDES(mutex_);
  void give_back(RawMemory data, std::size_t capacity) EXCLUDES(mutex_);

  struct Class {
    std::vector<RawMemory> free{};
    std::size_t least_free = 0;  // since the last trim
  };
  const std::size_t bytes_max_;
  mutable storage::Mutex mutex_;
  std::size_t used_bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t charged_bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t free_bytes_ GUARDED_BY(mutex_) = 0;
  std::array<Class, kClasses> classes_ GUARDED_BY(mutex_){};
};

}  // namespace lastword::server
