// SPDX-License-Identifier: Apache-2.0
// What a table reader keeps between two runs: the table, and how far it got. STATE.md has the
// bytes.
//
// Purpose   one checksummed file, replaced whole and atomically: after a crash there is the old
//           state or the new one.
// Threads   plain data; two programs must not write the same file.
// Lifetime  values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/bytes.h"
#include "protocol/record_batch.h"
#include "protocol/uuid.h"

namespace lastword::client {

/// The current value of each key of one partition.
using Table = std::unordered_map<std::string, std::string>;

struct TableState {
  struct Partition {
    std::int32_t partition = 0;
    Offset position = 0;                       // the next offset to read
    std::int32_t leader_epoch = -1;            // of the last batch read; -1: none was
    std::int64_t removed_tombstone_mark = -1;  // at the start of its scan; -1: not told
    Table table{};
    bool operator==(const Partition&) const = default;
  };
  std::string topic{};
  Uuid topic_id{};
  std::vector<Partition> partitions{};
  bool operator==(const TableState&) const = default;
};

Bytes encode_table_state(const TableState& state);
/// kDamaged if `bytes` are not such a state, whole.
Result<TableState> decode_table_state(ByteView bytes);

/// Nothing if there is no such file. kDamaged, saying what to do, if its checksum does not hold.
Result<std::optional<TableState>> load_table_state(const std::string& path);
/// Durable when it returns. The Error names the file.
Result<> save_table_state(const std::string& path, const TableState& state);

}  // namespace lastword::client
