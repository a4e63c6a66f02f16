// SPDX-License-Identifier: Apache-2.0
// The latest offset of each key, in a fixed amount of memory.
//
// Purpose   keys are not kept: a slot is a 128-bit SipHash of the key, under the data directory's
// random
//           key, and an offset, 24 bytes together. Nobody who does not know that key can make two
//           keys that collide; by chance it takes 2^64 of them. The memory comes from the system at
//           create() and goes back to it with the map.
// Threads   one at a time.
// Lifetime  one round of a pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "protocol/record_batch.h"

namespace lastword::cleaner {

using HashKey = std::array<std::byte, 16>;

/// A key as the map knows it.
struct KeyHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const KeyHash&) const = default;
};

class KeyMap {
 public:
  static constexpr std::size_t kSlotBytes = 24;

  /// A map for at least one and about `keys` keys, fewer if they need more than `bytes_max`.
  static Result<KeyMap> create(std::int64_t keys, std::int64_t bytes_max, const HashKey& hash_key);
  ~KeyMap();
  KeyMap(KeyMap&& other) noexcept;
  KeyMap& operator=(KeyMap&&) = delete;

  KeyHash hash(ByteView key) const;
  /// Asks for the memory that put() or find() will look at; they come a few keys later.
  void prefetch(const KeyHash& key) const { __builtin_prefetch(slots_ + home(key)); }

  /// Notes `offset` (>= 0) for `key`, over an earlier one. False, with nothing changed, if the key
  /// is new and the map is full.
  bool put(const KeyHash& key, Offset offset);
  /// The offset of the key, -1 if it is not there.
  Offset find(const KeyHash& key) const;

  std::size_t size() const { return size_; }
  /// How many keys it takes.
  std::size_t capacity() const { return capacity_; }

 private:
  struct Slot {
    KeyHash key;
    std::int64_t offset_and_one;  // 0: free, which is what fresh pages hold
  };
  static_assert(sizeof(Slot) == kSlotBytes);

  KeyMap(Slot* slots, std::size_t slot_count, const HashKey& hash_key);
  // The high half picks the slot: its product with the count, top 64 bits, is below the count.
  std::size_t home(const KeyHash& key) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>((static_cast<Wide>(key.high) * slot_count_) >> 64);
  }
  /// The slot that holds the key, or the free one where it would go; null if neither is there.
  Slot* slot_of(const KeyHash& key) const;

  Slot* slots_;
  std::size_t slot_count_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  HashKey hash_key_;
};

}  // namespace lastword::cleaner
