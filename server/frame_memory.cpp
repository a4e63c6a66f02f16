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

void FrameBuffer::swap(FrameBuffer& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
}

FrameBuffer FrameMemory::grow(FrameBuffer& buffer, std::size_t keep_bytes,
                              std::size_t frame_bytes) {
  std::size_t capacity = kSmallestBytes;
  const std::size_t wanted = buffer.capacity() == 0
                                 ? std::min(frame_bytes, class_capacity(2))
                                 : std::min(frame_bytes, buffer.capacity() * 4);
  while (capacity < wanted) capacity *= 4;
  if (capacity > class_capacity(kClasses - 1)) capacity = wanted;

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

std::unique_ptr<std::byte[]> FrameMemory::take(std::size_t capacity) {
  {
    const storage::Lock lock(mutex_);
    if (used_bytes_ + capacity > bytes_max_) return nullptr;
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
  return std::make_unique_for_overwrite<std::byte[]>(capacity);
}

void FrameMemory::give_back(std::unique_ptr<std::byte[]> data, std::size_t capacity) {
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
