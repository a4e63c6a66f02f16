// SPDX-License-Identifier: Apache-2.0
// The current state of a topic: each key with its latest value. Rebuilds it and follows it.
//
// Purpose   a value is put in, a newer one replaces it, a null deletes the key. What was read shows
//           at once when the high watermark is reached that was taken before, so a state that never
//           was is never seen. Deletes cannot be missed silently: when the broker's
//           removed-tombstone mark (protocol/EXTENSIONS.md), its log start, the topic's id or the
//           leader epoch say that some may have been, the partition is read again from its start,
//           and the keys that were gone are reported. STATE.md has the rules.
// Threads   one at a time; callbacks run inside step().
// Lifetime  the Link outlives it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/consumer.h"
#include "client/table_state.h"

namespace lastword::client {

/// One key's change. No value: it was deleted; no old value: it was not there.
struct TableChange {
  std::int32_t partition = 0;
  const std::string& key;
  const std::string* value = nullptr;
  const std::string* old_value = nullptr;
};

/// A partition that had to be read again from its start, and was.
struct Rebuilt {
  std::int32_t partition = 0;
  std::string reason{};
  std::vector<std::string> gone{};  // keys that the table had before and has no more; sorted
};

class TableReader {
 public:
  struct Options {
    Consumer::Options consumer{};       // the mark is always asked for
    std::optional<TableState> state{};  // to go on from
    std::function<void(const TableChange&)> on_change{};
    /// A partition's rebuild begins, and why.
    std::function<void(std::int32_t partition, const std::string& reason)> on_missed{};
    std::function<void(const Rebuilt&)> on_rebuilt{};
  };

  /// Takes the ends of all partitions, and checks the state if there is one. A state of another
  /// topic is an Error; one that is of no use begins a rebuild.
  static Result<std::unique_ptr<TableReader>> open(Link& link, const std::string& topic,
                                                   Options options);

  /// Fetches once, waiting at most `wait_max` for something new, and shows what is complete. The
  /// third rebuild of a partition in a row is an Error that says which setting to raise.
  Result<> step(std::chrono::milliseconds wait_max);

  /// Whether the table has been brought to the high watermark that was taken at open(). Until then
  /// it is that of the state, or empty.
  bool caught_up() const { return caught_up_; }

  std::size_t size() const;
  /// Null if the key is not there.
  const std::string* find(const std::string& key) const;
  /// The partitions that have a value of the key. More than one: writers do not agree where it
  /// belongs, and a delete reaches one of them.
  std::vector<std::int32_t> partitions_of(const std::string& key) const;
  /// How many partitions the topic has.
  std::size_t partition_count() const { return consumer_->topic().partitions.size(); }
  void for_each(
      const std::function<void(const std::string& key, const std::string& value)>& see) const;

  /// To be saved; also in the middle of a first scan. Nothing during a rebuild, whose end has yet
  /// to report the keys that were gone: then the older state stays right.
  std::optional<TableState> state() const;

 private:
  enum class Missed { kDeletes, kLogStart, kTail, kTopic };
  struct Partition {
    Table shown{};
    // What was read but is not shown yet: changes, or (while scanning) a whole table.
    std::unordered_map<std::string, Field> changes{};
    Table scanned{};
    bool scanning = false;
    bool in_topic = true;         // false: of a topic that was there before under this name
    bool read_something = false;  // since the scan began
    bool in_round = true;         // its target of this round is set
    Offset position = 0;
    Offset target = 0;  // shown together once the position is there
    Offset high_watermark = 0;
    std::int32_t epoch = -1;         // of the last batch read
    std::int32_t leader_epoch = -1;  // that fetches name
    std::int64_t mark = -1;
    int rebuilds = 0;  // in a row
    std::string reason{};
  };
  struct Loss {
    Missed missed;
    std::string text;
  };
  /// What the broker says of a partition now.
  struct Place {
    Offset log_start = 0;
    Offset end = 0;
    std::int64_t mark = -1;
    std::int32_t leader_epoch = -1;
  };

  TableReader(Link& link, std::string topic, Options options);
  Result<> begin();
  Result<> begin_with(const TopicInfo& topic, TableState&& state);
  Result<std::map<std::int32_t, Place>> places(const TopicInfo& topic);
  Result<std::optional<Loss>> loss_since(std::int32_t index, const Partition& partition,
                                         const Place& place);
  Result<std::optional<Loss>> lost_tail(std::int32_t index, const Partition& partition);

  void scan(std::int32_t index, const Place& place);
  Result<> rebuild(std::int32_t index, const Loss& loss);
  Result<> begin_rebuild(std::int32_t index, const Loss& loss, const Place& place);

  Result<> take(const PartitionChunk& chunk);
  Result<> take_errors(const std::vector<PartitionChunk>& chunks);
  /// False: nothing explains it, so it is worth asking again.
  Result<bool> take_error(const PartitionChunk& chunk, const TopicInfo& topic);
  void apply(Partition& partition, const std::vector<ConsumedRecord>& records);
  Result<bool> check_range(std::int32_t index, const TopicInfo& topic);
  Result<> check_epoch(std::int32_t index, const TopicInfo& topic);
  Result<> try_again(const PartitionChunk& chunk);
  Result<> adopt_new_topic(const TopicInfo& topic);

  bool complete() const;
  void show();
  void show_changes(std::int32_t index, Partition& partition);
  void show_scanned(std::int32_t index, Partition& partition);
  void report_rebuilt(std::int32_t index, Partition& partition, std::vector<std::string>&& lost);

  Link& link_;
  Admin admin_;
  const std::string topic_name_;
  Options options_;
  std::optional<Consumer> consumer_{};
  std::map<std::int32_t, Partition> partitions_{};
  Retries retries_{};  // of errors that the broker does not explain
  bool caught_up_ = false;
};

}  // namespace lastword::client
