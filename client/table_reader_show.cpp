// SPDX-License-Identifier: Apache-2.0
// What of a table is shown, and when: all partitions at once, each at the offset that was its high
// watermark when the round began.
#include <algorithm>
#include <utility>

#include "client/table_reader.h"

namespace lastword::client {

bool TableReader::complete() const {
  return std::ranges::all_of(partitions_, [](const auto& entry) {
    return !entry.second.in_topic || entry.second.position >= entry.second.target;
  });
}

void TableReader::show() {
  std::map<std::int32_t, std::vector<std::string>> lost;
  for (auto& [index, partition] : partitions_) {
    if (!partition.scanning) {
      show_changes(index, partition);
      continue;
    }
    if (!partition.reason.empty()) {
      for (const auto& [key, value] : partition.shown) {
        if (!partition.scanned.contains(key)) lost[index].push_back(key);
      }
    }
    show_scanned(index, partition);
  }
  for (auto& [index, partition] : partitions_) {
    partition.rebuilds = 0;
    partition.in_round = false;
    partition.target = partition.high_watermark;
    if (!partition.reason.empty()) report_rebuilt(index, partition, std::move(lost[index]));
  }
  std::erase_if(partitions_, [](const auto& entry) { return !entry.second.in_topic; });
  caught_up_ = true;
}

void TableReader::show_changes(std::int32_t index, Partition& partition) {
  for (auto& [key, value] : partition.changes) {
    const auto old = partition.shown.find(key);
    const bool was_there = old != partition.shown.end();
    if (!value && !was_there) continue;
    if (options_.on_change) {
      options_.on_change({.partition = index,
                          .key = key,
                          .value = value ? &*value : nullptr,
                          .old_value = was_there ? &old->second : nullptr});
    }
    if (value) {
      partition.shown[key] = std::move(*value);
    } else {
      partition.shown.erase(old);
    }
  }
  partition.changes.clear();
}

void TableReader::show_scanned(std::int32_t index, Partition& partition) {
  if (options_.on_change) {
    for (const auto& [key, old_value] : partition.shown) {
      if (partition.scanned.contains(key)) continue;
      options_.on_change({.partition = index, .key = key, .old_value = &old_value});
    }
    for (const auto& [key, value] : partition.scanned) {
      const auto old = partition.shown.find(key);
      const bool was_there = old != partition.shown.end();
      if (was_there && old->second == value) continue;
      options_.on_change({.partition = index,
                          .key = key,
                          .value = &value,
                          .old_value = was_there ? &old->second : nullptr});
    }
  }
  partition.shown = std::exchange(partition.scanned, {});
  partition.scanning = false;
}

// A key that another partition has now (the topic was made again with other partitions) is not
// gone.
void TableReader::report_rebuilt(std::int32_t index, Partition& partition,
                                 std::vector<std::string>&& lost) {
  std::erase_if(lost, [this](const std::string& key) { return find(key) != nullptr; });
  std::ranges::sort(lost);
  const std::string reason = std::exchange(partition.reason, {});
  if (options_.on_rebuilt) options_.on_rebuilt({index, reason, std::move(lost)});
}

std::size_t TableReader::size() const {
  std::size_t keys = 0;
  for (const auto& [index, partition] : partitions_) keys += partition.shown.size();
  return keys;
}

const std::string* TableReader::find(const std::string& key) const {
  for (const auto& [index, partition] : partitions_) {
    const auto found = partition.shown.find(key);
    if (found != partition.shown.end()) return &found->second;
  }
  return nullptr;
}

std::vector<std::int32_t> TableReader::partitions_of(const std::string& key) const {
  std::vector<std::int32_t> found;
  for (const auto& [index, partition] : partitions_) {
    if (partition.shown.contains(key)) found.push_back(index);
  }
  return found;
}

void TableReader::for_each(
    const std::function<void(const std::string& key, const std::string& value)>& see) const {
  for (const auto& [index, partition] : partitions_) {
    for (const auto& [key, value] : partition.shown) see(key, value);
  }
}

std::optional<TableState> TableReader::state() const {
  TableState state{.topic = topic_name_, .topic_id = consumer_->topic().id};
  for (const auto& [index, partition] : partitions_) {
    if (!partition.in_topic || (partition.scanning && !partition.reason.empty())) {
      return std::nullopt;
    }
    auto& saved = state.partitions.emplace_back(
        TableState::Partition{.partition = index,
                              .position = partition.position,
                              .leader_epoch = partition.epoch,
                              .removed_tombstone_mark = partition.mark,
                              .table = partition.scanning ? partition.scanned : partition.shown});
    for (const auto& [key, value] : partition.changes) {
      if (value) {
        saved.table[key] = *value;
      } else {
        saved.table.erase(key);
      }
    }
  }
  return state;
}

}  // namespace lastword::client
