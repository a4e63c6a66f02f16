// SPDX-License-Identifier: Apache-2.0
// The file `identity` of a data directory: what it is, and how the last daemon left it.
//
// Layout    FORMAT.md gives its bytes: a checked file that is replaced whole.
// Threads   plain data and functions on it.
// Lifetime  values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/file_system.h"

namespace lastword::storage {

struct Identity {
  std::array<std::byte, 16> cluster_id{};
  std::array<std::byte, 16> hash_key{};  // of the cleaner's key map
  std::int64_t next_producer_id = 1;     // this one and those above were never handed out
  std::string boot_id{};                 // of the machine, when the last daemon ran
  bool ran_under_os = false;             // that daemon had durability os
  bool stopped_cleanly = false;          // false while a daemon runs
  bool operator==(const Identity&) const = default;
};

/// 16 bytes that nobody can guess, never all zero: for ids and keys.
std::array<std::byte, 16> random_id();

/// Random cluster id and hash key.
Identity make_identity();

Bytes encode(const Identity& identity);
/// kDamaged when checksum, version or structure do not hold.
Result<Identity> decode_identity(ByteView bytes);

/// kNotFound in a new directory.
Result<Identity> load_identity(FileSystem& files, const std::string& directory);
/// Durably, whatever the durability setting says: it is written seldom.
Result<> save_identity(FileSystem& files, const std::string& directory, const Identity& identity);

}  // namespace lastword::storage
