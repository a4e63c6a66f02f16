// SPDX-License-Identifier: Apache-2.0
#include "server/frame_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lastword::server {

namespace {

std::size_t class_capacity(std::size_t index) { return std::size_t{4096} << (2 * index); }

}  // namespace

FrameBuffer::~FrameBuffer() {
  if (memory_ != nullptr) memory_->give_back(std::move(data_), capacity_);
}

FrameCharge::~FrameCharge() {
  if (memory_ == nullptr) return;
  const storage::Lock lock(memory_->mutex_);
  memory_->charged_bytes_ -= bytes_;
}

void FrameBuffer::swap(FrameBuffer& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
}

FrameBuffer FrameMemory::grow(FrameBuffer& buffer, std::size_t keep_bytes,
                              std::size_t frame_bytes) {
  constexpr std::size_t kLargestClass = kSmallestBytes << (2 * (kClasses - 1));
  const std::size_t wanted =
      std::min(frame_bytes, buffer.capacity() == 0 ? first_bytes() : buffer.capacity() * 4);
  if (buffer.capacity() >= kLargestClass) return stretch(buffer, wanted);
  std::size_t capacity = kSmallestBytes;
  while (capacity < wanted) capacity *= 4;

  FrameBuffer larger;
  auto data = take(capacity);
  if (!data) return larger;
  if (keep_bytes > 0) std::memcpy(data.get(), buffer.data_.get(), keep_bytes);
  larger.memory_ = this;
  larger.data_ = std::move(data);
  larger.capacity_ = capacity;
  FrameBuffer().swap(buffer);
  return larger;
}

FrameCharge FrameMemory::charge(std::size_t bytes) {
  FrameCharge charge;
  const storage::Lock lock(mutex_);
  const std::size_t most =
      bytes <= kSmallChargeBytes ? bytes_max_ - bytes_max_ / 4 : charge_bytes_max();
  if (charged_bytes_ + bytes > most) return charge;
  charged_bytes_ += bytes;
  charge.memory_ = this;
  charge.bytes_ = bytes;
  return charge;
}

std::size_t FrameMemory::first_bytes() const {
  return used_bytes() < bytes_max_ / 2 ? kFirstBytes : kSmallestBytes;
}

std::size_t FrameMemory::ceiling(std::size_t capacity) const {
  if (capacity <= kSmallestBytes) return bytes_max_;
  return bytes_max_ - bytes_max_ / (capacity <= kFirstBytes ? 16 : 8);
}

// A frame near the budget could never be read if the old buffer counted beside the new one.
FrameBuffer FrameMemory::stretch(FrameBuffer& buffer, std::size_t capacity) {
  const std::size_t more = capacity - buffer.capacity();
  FrameBuffer larger;
  {
    const storage::Lock lock(mutex_);
    if (used_bytes_ + more > ceiling(capacity)) return larger;
    used_bytes_ += more;
  }
  auto* data = static_cast<std::byte*>(std::realloc(buffer.data_.get(), capacity));
  if (data == nullptr) {
    const storage::Lock lock(mutex_);
    used_bytes_ -= more;
    return larger;
  }
  static_cast<void>(buffer.data_.release());
  buffer.data_.reset(data);
  buffer.capacity_ = capacity;
  larger.swap(buffer);
  return larger;
}

RawMemory FrameMemory::take(std::size_t capacity) {
  {
    const storage::Lock lock(mutex_);
    if (used_bytes_ + capacity > ceiling(capacity)) return nullptr;
    used_bytes_ += capacity;
    for (std::size_t i = 0; i < kClasses; ++i) {
      if (class_capacity(i) != capacity || classes_[i].free.empty()) continue;
      auto data = std::move(classes_[i].free.back());
      classes_[i].free.pop_back();
      classes_[i].least_free = std::min(classes_[i].least_free, classes_[i].free.size());
      free_bytes_ -= capacity;
      return data;
    }
  }
  RawMemory data(static_cast<std::byte*>(std::malloc(capacity)));
  if (!data) {
    const storage::Lock lock(mutex_);
    used_bytes_ -= capacity;
  }
  return data;
}

void FrameMemory::give_back(RawMemory data, std::size_t capacity) {
  const storage::Lock lock(mutex_);
  used_bytes_ -= capacity;
  if (free_bytes_ + capacity > kReusedBytesMax) return;
  for (std::size_t i = 0; i < kClasses; ++i) {
    if (class_capacity(i) != capacity) continue;
    classes_[i].free.push_back(std::move(data));
    free_bytes_ += capacity;
    return;
  }
}

void FrameMemory::trim() {
  const storage::Lock lock(mutex_);
  for (std::size_t i = 0; i < kClasses; ++i) {
    Class& of_size = classes_[i];
    const std::size_t unused = std::min(of_size.least_free, of_size.free.size());
    of_size.free.resize(of_size.free.size() - unused);
    of_size.free.shrink_to_fit();
    free_bytes_ -= unused * class_capacity(i);
    of_size.least_free = of_size.free.size();
  }
}

std::size_t FrameMemory::used_bytes() const {
  const storage::Lock lock(mutex_);
  return used_bytes_;
}

}  // namespace lastword::server
