// SPDX-License-Identifier: Apache-2.0
#include "cleaner/key_map.h"

#include <sodium.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace lastword::cleaner {
namespace {

static_assert(crypto_shorthash_siphashx24_BYTES == sizeof(KeyHash));
static_assert(crypto_shorthash_siphashx24_KEYBYTES == std::tuple_size_v<HashKey>);

// Above this share, runs of taken slots get long.
constexpr std::size_t kTakenOf10Max = 9;

std::size_t slots_for(std::size_t keys) { return keys + keys / 8 + 2; }

}  // namespace

Result<KeyMap> KeyMap::create(std::int64_t keys, std::int64_t bytes_max, const HashKey& hash_key) {
  const auto affordable =
      static_cast<std::size_t>(std::max<std::int64_t>(bytes_max, 0)) / kSlotBytes;
  const auto wanted = slots_for(static_cast<std::size_t>(std::max<std::int64_t>(keys, 1)));
  const std::size_t slot_count = std::max<std::size_t>(1, std::min(affordable, wanted));
  void* const memory = ::mmap(nullptr, slot_count * kSlotBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{ErrorKind::kStorage, "no memory for a key map of " +
                                          std::to_string(slot_count * kSlotBytes) + " bytes (" +
                                          std::strerror(errno) + "): lower cleaner.memory"};
  }
  // Slots are hit at random; large pages spare most misses of the address cache.
  ::madvise(memory, slot_count * kSlotBytes, MADV_HUGEPAGE);
  return KeyMap(static_cast<Slot*>(memory), slot_count, hash_key);
}

KeyMap::KeyMap(Slot* slots, std::size_t slot_count, const HashKey& hash_key)
    : slots_(slots),
      slot_count_(slot_count),
      capacity_(std::max<std::size_t>(
          1, slot_count / 10 * kTakenOf10Max + slot_count % 10 * kTakenOf10Max / 10)),
      hash_key_(hash_key) {}

KeyMap::KeyMap(KeyMap&& other) noexcept
    : slots_(std::exchange(other.slots_, nullptr)),
      slot_count_(other.slot_count_),
      capacity_(other.capacity_),
      size_(other.size_),
      hash_key_(other.hash_key_) {}

KeyMap::~KeyMap() {
  if (slots_ != nullptr) ::munmap(slots_, slot_count_ * kSlotBytes);
}

KeyHash KeyMap::hash(ByteView key) const {
  KeyHash hash;
  crypto_shorthash_siphashx24(reinterpret_cast<unsigned char*>(&hash),
                              reinterpret_cast<const unsigned char*>(key.data()), key.size(),
                              reinterpret_cast<const unsigned char*>(hash_key_.data()));
  return hash;
}

KeyMap::Slot* KeyMap::slot_of(const KeyHash& key) const {
  std::size_t at = home(key);
  for (std::size_t probes = 0; probes < slot_count_; ++probes) {
    Slot& slot = slots_[at];
    if (slot.offset_and_one == 0 || slot.key == key) return &slot;
    if (++at == slot_count_) at = 0;
  }
  return nullptr;
}

bool KeyMap::put(const KeyHash& key, Offset offset) {
  Slot* const slot = slot_of(key);
  if (slot == nullptr) return false;
  if (slot->offset_and_one == 0) {
    if (size_ == capacity_) return false;
    slot->key = key;
    ++size_;
  }
  slot->offset_and_one = offset + 1;
  return true;
}

Offset KeyMap::find(const KeyHash& key) const {
  const Slot* const slot = slot_of(key);
  return slot == nullptr ? -1 : slot->offset_and_one - 1;
}

}  // namespace lastword::cleaner
