// SPDX-License-Identifier: Apache-2.0
// How a table is read: resuming, scanning, following, and reading again what cannot be trusted.
// What of it is shown, and when, is in table_reader_show.cpp.
#include "client/table_reader.h"

#include <algorithm>
#include <utility>

namespace lastword::client {

namespace {

constexpr int kRebuildsMax = 3;  // the third in a row is an error

std::string where(const std::string& topic, std::int32_t partition) {
  return topic + " partition " + std::to_string(partition);
}

// A tombstone that the reader has not seen may be gone: the mark is above both what it was when the
// scan began and the position.
bool deletes_missed(std::int64_t mark, std::int64_t kept_mark, Offset position) {
  return mark > kept_mark && mark > position;
}

std::string deletes_text(std::int64_t mark, Offset position) {
  return "deletes were missed: tombstones below offset " + std::to_string(mark) +
         " are gone, and the table ends at offset " + std::to_string(position);
}

std::string log_start_text(Offset log_start, Offset position) {
  return "deletes may have been missed: the log starts at offset " + std::to_string(log_start) +
         " now, and the table ends at offset " + std::to_string(position);
}

}  // namespace

TableReader::TableReader(Link& link, std::string topic, Options options)
    : link_(link), admin_(link), topic_name_(std::move(topic)), options_(std::move(options)) {
  options_.consumer.want_removed_tombstone_mark = true;
}

Result<std::unique_ptr<TableReader>> TableReader::open(Link& link, const std::string& topic,
                                                       Options options) {
  std::unique_ptr<TableReader> reader(new TableReader(link, topic, std::move(options)));
  LW_TRY(reader->begin());
  return reader;
}

Result<> TableReader::begin() {
  const auto topic = admin_.topic(topic_name_);
  if (!topic) return topic.error();
  TableState state{.topic = topic_name_, .topic_id = topic->id};
  if (options_.state) state = std::move(*options_.state);
  options_.state.reset();
  if (state.topic != topic_name_) {
    return Error{ErrorKind::kUnknownTopic,
                 "the state is of topic " + state.topic + ", not of " + topic_name_};
  }
  return begin_with(*topic, std::move(state));
}

Result<> TableReader::begin_with(const TopicInfo& topic, TableState&& state) {
  for (TableState::Partition& saved : state.partitions) {
    Partition& partition = partitions_[saved.partition];
    partition.shown = std::move(saved.table);
    partition.position = saved.position;
    partition.epoch = saved.leader_epoch;
    partition.mark = saved.removed_tombstone_mark;
  }
  const bool same_topic = state.topic_id == topic.id;
  if (!same_topic && !partitions_.empty()) return adopt_new_topic(topic);
  consumer_.emplace(link_, topic, options_.consumer);
  const auto found = places(topic);
  if (!found) return found.error();
  for (const auto& [index, place] : *found) {
    if (!partitions_.contains(index)) {
      scan(index, place);
      continue;
    }
    Partition& partition = partitions_[index];
    const auto loss = loss_since(index, partition, place);
    if (!loss) return loss.error();
    if (*loss) {
      LW_TRY(begin_rebuild(index, **loss, place));
      continue;
    }
    partition.target = place.end;
    partition.high_watermark = place.end;
    partition.leader_epoch = place.leader_epoch;
    consumer_->seek(index, partition.position, place.leader_epoch);
  }
  return {};
}

Result<std::map<std::int32_t, TableReader::Place>> TableReader::places(const TopicInfo& topic) {
  std::vector<std::int32_t> indexes;
  std::map<std::int32_t, Place> places;
  for (const PartitionInfo& partition : topic.partitions) {
    indexes.push_back(partition.index);
    places[partition.index].leader_epoch = partition.leader_epoch;
  }
  const auto starts = admin_.offsets(topic.name, indexes,
                                     {.timestamp = kEarliest, .want_removed_tombstone_mark = true});
  if (!starts) return starts.error();
  const auto ends = admin_.offsets(topic.name, indexes, {.timestamp = kLatest});
  if (!ends) return ends.error();
  for (const auto& [index, start] : *starts) {
    places[index].log_start = start.offset;
    places[index].mark = start.removed_tombstone_mark.value_or(-1);
  }
  for (const auto& [index, end] : *ends) places[index].end = end.offset;
  return places;
}

Result<std::optional<TableReader::Loss>> TableReader::loss_since(std::int32_t index,
                                                                 const Partition& partition,
                                                                 const Place& place) {
  using Found = std::optional<Loss>;
  if (deletes_missed(place.mark, partition.mark, partition.position)) {
    return Found({Missed::kDeletes, deletes_text(place.mark, partition.position)});
  }
  if (place.log_start > partition.position) {
    return Found({Missed::kLogStart, log_start_text(place.log_start, partition.position)});
  }
  if (partition.position > place.end) {
    return Found({Missed::kTail, "the end of the log was lost: it ends at offset " +
                                     std::to_string(place.end) + " now, and the table at offset " +
                                     std::to_string(partition.position)});
  }
  return lost_tail(index, partition);
}

// Whether the broker still has what was read last (KIP-320).
Result<std::optional<TableReader::Loss>> TableReader::lost_tail(std::int32_t index,
                                                                const Partition& partition) {
  using Found = std::optional<Loss>;
  if (partition.epoch < 0) return Found();
  const auto end = admin_.end_of_epoch(topic_name_, index, partition.epoch);
  if (!end) return end.error();
  if (end->epoch == partition.epoch && end->end_offset >= partition.position) return Found();
  const std::string epoch = "leader epoch " + std::to_string(partition.epoch);
  return Found(
      {Missed::kTail, "the end of the log was lost: the table ends at offset " +
                          std::to_string(partition.position) + " in " + epoch + ", which " +
                          (end->epoch == partition.epoch
                               ? "ends at offset " + std::to_string(end->end_offset) + " now"
                               : "the broker does not know")});
}

void TableReader::scan(std::int32_t index, const Place& place) {
  Partition& partition = partitions_[index];
  partition.changes.clear();
  partition.scanned.clear();
  partition.scanning = true;
  partition.in_topic = true;
  partition.read_something = false;
  partition.in_round = true;
  partition.position = place.log_start;
  partition.target = place.end;
  partition.high_watermark = place.end;
  partition.epoch = -1;
  partition.leader_epoch = place.leader_epoch;
  partition.mark = place.mark;
  consumer_->seek(index, place.log_start, place.leader_epoch);
}

Result<> TableReader::rebuild(std::int32_t index, const Loss& loss) {
  const auto found = places(consumer_->topic());
  if (!found) return found.error();
  return begin_rebuild(index, loss, found->at(index));
}

Result<> TableReader::begin_rebuild(std::int32_t index, const Loss& loss, const Place& place) {
  Partition& partition = partitions_[index];
  if (++partition.rebuilds >= kRebuildsMax) {
    const std::string remedy =
        loss.missed == Missed::kDeletes
            ? "a scan takes longer than tombstones live: raise delete.retention.ms of the topic"
        : loss.missed == Missed::kLogStart
            ? "a scan takes longer than records live: raise retention.ms or retention.bytes"
            : "the log keeps changing under the reader: see the broker's log";
    return Error{ErrorKind::kOffsetOutOfRange, where(topic_name_, index) +
                                                   " had to be read again three times in a row; " +
                                                   loss.text + "; " + remedy};
  }
  partition.reason = loss.text;
  if (options_.on_missed) options_.on_missed(index, loss.text);
  scan(index, place);
  return {};
}

Result<> TableReader::step(std::chrono::milliseconds wait_max) {
  if (!caught_up_ && complete()) {
    show();
    return {};
  }
  consumer_->set_wait_max(wait_max);
  auto chunks = consumer_->poll();
  if (!chunks) return chunks.error();
  // What came well first: an error may end in a topic that was made again.
  for (const PartitionChunk& chunk : *chunks) {
    if (chunk.error == ErrorCode::kNone) LW_TRY(take(chunk));
  }
  LW_TRY(take_errors(*chunks));
  if (complete()) show();
  return {};
}

Result<> TableReader::take(const PartitionChunk& chunk) {
  Partition& partition = partitions_.at(chunk.partition);
  const std::int64_t mark = chunk.removed_tombstone_mark.value_or(-1);
  if (deletes_missed(mark, partition.mark, chunk.from)) {
    // A scan that has read nothing yet may as well begin here.
    if (!partition.scanning || partition.read_something) {
      return rebuild(chunk.partition, {Missed::kDeletes, deletes_text(mark, chunk.from)});
    }
    partition.mark = mark;
  }
  if (!partition.in_round) {
    partition.target = std::max(partition.target, chunk.high_watermark);
    partition.in_round = true;
  }
  apply(partition, chunk.records);
  retries_ = Retries();
  partition.read_something = partition.read_something || chunk.next > chunk.from;
  partition.position = chunk.next;
  partition.high_watermark = std::max(partition.high_watermark, chunk.high_watermark);
  if (chunk.leader_epoch >= 0) partition.epoch = chunk.leader_epoch;
  return {};
}

void TableReader::apply(Partition& partition, const std::vector<ConsumedRecord>& records) {
  for (const ConsumedRecord& record : records) {
    if (!record.key) continue;  // says nothing of any key
    if (!partition.scanning) {
      partition.changes[*record.key] = record.value;
    } else if (record.value) {
      partition.scanned[*record.key] = *record.value;
    } else {
      partition.scanned.erase(*record.key);
    }
  }
}

Result<> TableReader::take_errors(const std::vector<PartitionChunk>& chunks) {
  const auto failed = [](const PartitionChunk& chunk) { return chunk.error != ErrorCode::kNone; };
  if (std::ranges::none_of(chunks, failed)) return {};
  const auto topic = admin_.topic(topic_name_);
  if (!topic) return topic.error();
  // Each partition says so when its topic is gone: one look at the topic answers them all.
  if (topic->id != consumer_->topic().id) return adopt_new_topic(*topic);
  const PartitionChunk* unexplained = nullptr;
  for (const PartitionChunk& chunk : chunks) {
    if (!failed(chunk)) continue;
    const auto explained = take_error(chunk, *topic);
    if (!explained) return explained.error();
    if (!*explained) unexplained = &chunk;
  }
  return unexplained != nullptr ? try_again(*unexplained) : Result<>();
}

Result<bool> TableReader::take_error(const PartitionChunk& chunk, const TopicInfo& topic) {
  switch (chunk.error) {
    case ErrorCode::kFencedLeaderEpoch:
    case ErrorCode::kUnknownLeaderEpoch:
      LW_TRY(check_epoch(chunk.partition, topic));
      return true;
    case ErrorCode::kOffsetOutOfRange:
      return check_range(chunk.partition, topic);
    default:
      if (chunk.unreadable) return *chunk.unreadable;
      return false;
  }
}

Result<bool> TableReader::check_range(std::int32_t index, const TopicInfo& topic) {
  const auto found = places(topic);
  if (!found) return found.error();
  const auto place = found->find(index);
  if (place == found->end()) return false;
  const auto loss = loss_since(index, partitions_.at(index), place->second);
  if (!loss) return loss.error();
  if (!*loss) return false;  // it is in range again
  LW_TRY(begin_rebuild(index, **loss, place->second));
  return true;
}

// The leader has another epoch: what was read may not be in its log.
Result<> TableReader::check_epoch(std::int32_t index, const TopicInfo& topic) {
  const auto found = std::ranges::find(topic.partitions, index, &PartitionInfo::index);
  Partition& partition = partitions_.at(index);
  if (found == topic.partitions.end() || found->leader_epoch == partition.leader_epoch) {
    return broker_error("cannot read " + where(topic_name_, index), ErrorCode::kUnknownLeaderEpoch);
  }
  const auto loss = lost_tail(index, partition);
  if (!loss) return loss.error();
  if (*loss) return rebuild(index, **loss);
  partition.leader_epoch = found->leader_epoch;
  consumer_->seek(index, partition.position, found->leader_epoch);
  return {};
}

Result<> TableReader::try_again(const PartitionChunk& chunk) {
  if (retries_.again()) return {};
  return broker_error("cannot read " + where(topic_name_, chunk.partition), chunk.error);
}

Result<> TableReader::adopt_new_topic(const TopicInfo& topic) {
  const Loss loss{Missed::kTopic, "the topic was deleted and made again"};
  consumer_.emplace(link_, topic, options_.consumer);
  const auto found = places(topic);
  if (!found) return found.error();
  for (auto& [index, partition] : partitions_) {
    if (found->contains(index)) continue;
    partition.changes.clear();
    partition.scanned.clear();
    partition.scanning = true;
    partition.in_topic = false;
    partition.reason = loss.text;
  }
  for (const auto& [index, place] : *found) {
    if (partitions_.contains(index)) {
      LW_TRY(begin_rebuild(index, loss, place));
    } else {
      scan(index, place);
    }
  }
  return {};
}

}  // namespace lastword::client
