// SPDX-License-Identifier: Apache-2.0
// `lastword consume`: the records of a topic, as lines of text or JSON.
#include <algorithm>
#include <cstdio>
#include <map>

#include "client/commands/command.h"
#include "client/commands/usage.h"
#include "client/consumer.h"
#include "client/json_lines.h"
#include "client/text.h"

namespace lastword::client {

namespace {

struct ConsumeOptions {
  std::string topic{};
  std::string from = "earliest";
  std::vector<std::int32_t> partitions{};
  bool until_end = false;
  std::optional<std::int64_t> records_max{};
  std::string format = "text";
};

std::string to_text(const ConsumedRecord& record) {
  std::string line = std::to_string(record.partition) + ":" + std::to_string(record.offset) + "\t" +
                     time_text(record.timestamp) + "\t" + visible(record.key) + "\t" +
                     visible(record.value);
  for (std::size_t i = 0; i < record.headers.size(); ++i) {
    line += i == 0 ? "\t" : ", ";
    line += visible(record.headers[i].key) + "=" + visible(record.headers[i].value);
  }
  return line;
}

// Fills in all partitions if none is asked for.
Result<> check_partitions(const TopicInfo& topic, std::vector<std::int32_t>& partitions) {
  if (partitions.empty()) {
    for (const PartitionInfo& partition : topic.partitions) partitions.push_back(partition.index);
  }
  for (const std::int32_t wanted : partitions) {
    if (std::ranges::find(topic.partitions, wanted, &PartitionInfo::index) ==
        topic.partitions.end()) {
      return Error{ErrorKind::kInvalidPartitions,
                   "topic " + topic.name + " has no partition " + std::to_string(wanted) +
                       "; it has " +
                       count_text(static_cast<std::int64_t>(topic.partitions.size()), "partition") +
                       ", from 0"};
    }
  }
  return {};
}

/// Where reading begins, and where it ends if it does.
class Reading {
 public:
  Reading(Link& link, Consumer& consumer, const ConsumeOptions& options)
      : admin_(link), consumer_(consumer), options_(options) {}

  Result<> begin(const std::vector<std::int32_t>& partitions) {
    auto ends = admin_.offsets(options_.topic, partitions, {.timestamp = kLatest});
    if (!ends) return ends.error();
    for (const auto& [partition, end] : *ends) ends_[partition] = end.offset;
    if (const auto offset = parse_number(options_.from)) {
      for (const std::int32_t partition : partitions) {
        if (*offset > ends_[partition]) return out_of_range(partition, *offset);
        consumer_.seek(partition, *offset);
      }
      return {};
    }
    const auto starts = admin_.offsets(options_.topic, partitions, {.timestamp = start_time()});
    if (!starts) return starts.error();
    for (const auto& [partition, start] : *starts) {
      consumer_.seek(partition, start.offset >= 0 ? start.offset : ends_[partition]);
    }
    return {};
  }

  /// Prints what comes; ends at the ends taken at begin(), or after records_max.
  Result<> print_all() {
    while (!done()) {
      auto chunks = consumer_.poll();
      if (!chunks) return chunks.error();
      for (const PartitionChunk& chunk : *chunks) print_records(chunk);
      if (std::fflush(stdout) != 0) return {};  // finish_output() says it
      if (done()) return {};                    // whatever keeps the rest from being read
      for (const PartitionChunk& chunk : *chunks) LW_TRY(check(chunk));
    }
    return {};
  }

 private:
  void print_records(const PartitionChunk& chunk) {
    for (const ConsumedRecord& record : chunk.records) {
      if (full() || (options_.until_end && record.offset >= ends_[chunk.partition])) return;
      print((options_.format == "json" ? to_json(record) : to_text(record)) + "\n");
      ++printed_;
    }
  }
  TimestampMs start_time() const {
    if (options_.from == "latest") return kLatest;
    if (options_.from == "earliest") return kEarliest;
    return *parse_number(std::string_view(options_.from).substr(1));
  }
  bool full() const { return options_.records_max && printed_ >= *options_.records_max; }
  bool done() const {
    return full() || (options_.until_end && std::ranges::all_of(ends_, [&](const auto& end) {
                        return consumer_.position(end.first) >= end.second;
                      }));
  }
  Result<> check(const PartitionChunk& chunk) {
    if (chunk.error == ErrorCode::kNone) return {};
    if (chunk.unreadable) return *chunk.unreadable;
    if (chunk.error == ErrorCode::kOffsetOutOfRange) {
      return out_of_range(chunk.partition, chunk.from);
    }
    return broker_error("cannot read " + where(chunk.partition), chunk.error);
  }
  Error out_of_range(std::int32_t partition, Offset offset) {
    const std::vector<std::int32_t> asked{partition};
    const auto starts = admin_.offsets(options_.topic, asked, {.timestamp = kEarliest});
    const std::string range = starts ? std::to_string(starts->at(partition).offset) + " to " +
                                           std::to_string(ends_[partition])
                                     : "other offsets";
    return Error{ErrorKind::kOffsetOutOfRange, where(partition) + " has no offset " +
                                                   std::to_string(offset) + ": it holds " + range +
                                                   "; --from earliest reads from its start"};
  }
  std::string where(std::int32_t partition) const {
    return options_.topic + " partition " + std::to_string(partition);
  }

  Admin admin_;
  Consumer& consumer_;
  const ConsumeOptions& options_;
  std::map<std::int32_t, Offset> ends_{};
  std::int64_t printed_ = 0;
};

int consume(const Program& program, ConsumeOptions options) {
  Link link(program.connection());
  const auto topic = Admin(link).topic(options.topic);
  if (!topic) return fail(topic.error());
  if (auto known = check_partitions(*topic, options.partitions); !known) {
    return fail(known.error());
  }
  Consumer consumer(link, *topic, {});
  Reading reading(link, consumer, options);
  Result<> result = reading.begin(options.partitions);
  if (!options.until_end) outlast_restarts(link, [] { return false; });
  if (result) result = reading.print_all();
  if (!result) return fail(result.error());
  return finish_output();
}

}  // namespace

void add_consume(Program& program) {
  CLI::App& command = add_command(
      program, program.app, "consume",
      {"Prints records: partition:offset, time, key, value (and headers)",
       "Examples: lastword consume customer-addresses --from earliest --until-end\n"
       "          lastword consume customer-addresses --from @1767607200000 --until-end --format "
       "json\n\n"
       "In text, (null) and (empty) stand for those; tabs, line ends, other control characters "
       "and\n"
       "backslashes are written \\t, \\n, \\xNN, \\\\. Copy a topic with\n"
       "`lastword consume A --until-end --format json | lastword produce B --format json`."});
  auto options = std::make_shared<ConsumeOptions>();
  add_topic(command, options->topic, "Topic to read");
  command
      .add_option("--from", options->from,
                  "earliest (default), latest, an offset, or @ and milliseconds since 1970")
      ->check([](const std::string& text) {
        const bool time = text.starts_with('@') && parse_number(text.substr(1));
        const bool known = text == "earliest" || text == "latest" || parse_number(text) || time;
        return known ? std::string() : "expected earliest, latest, an offset or @TIMESTAMP";
      })
      ->type_name("WHERE");
  command
      .add_option("--partition", options->partitions, "Only this one; may be given several times")
      ->allow_extra_args(false)
      ->check(whole_number(0))
      ->type_name("N");
  command.add_flag("--until-end", options->until_end,
                   "Stop at what was the end when the command began, instead of waiting for more");
  command.add_option("--max", options->records_max, "Stop after this many records")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N");
  command
      .add_option("--format", options->format,
                  "text (default): fields parted by tabs; or json: what `produce --format json` "
                  "takes")
      ->check(one_of({"text", "json"}))
      ->type_name("FORMAT");
  command.callback([&program, options] {
    program.action = [&program, options] { return consume(program, *options); };
  });
}

}  // namespace lastword::client
