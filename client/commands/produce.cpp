// SPDX-License-Identifier: Apache-2.0
// `lastword produce`: one record, or lines of text or JSON from a file or standard input.
#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "client/commands/command.h"
#include "client/json_lines.h"
#include "client/line_reader.h"
#include "client/producer.h"
#include "client/text.h"

namespace lastword::client {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Input that says nothing for this long is taken for a pause: what came is sent.
constexpr milliseconds kQuiet{20};

struct ProduceOptions {
  std::string topic{};
  std::optional<std::string> key{};
  std::optional<std::string> value{};
  bool tombstone = false;
  std::vector<std::string> headers{};
  std::optional<std::int32_t> partition{};
  std::optional<std::int64_t> timestamp{};
  std::optional<std::string> file{};
  std::string format = "text";
  std::optional<std::string> key_separator{};
  std::optional<std::string> null_value{};
  Codec codec = Codec::kNone;
  Acks acks = Acks::kAll;
  bool idempotent = true;
};

/// What became of the records, in words.
class Outcome {
 public:
  void take(const Delivery& delivery) {
    const auto count = static_cast<std::int64_t>(delivery.numbers.size());
    if (!delivery.error) {
      stored_ += count;
      last_ = delivery;
      return;
    }
    refused_ += count;
    if (told_ >= kToldMax) return;
    ++told_;
    say(delivery.error->text);
    for (const auto& record : delivery.refused) {
      say("  " + place(record.number) + ": " + record.text);
    }
    if (delivery.refused.empty()) {
      say("  " + place(delivery.numbers.front()) + " to " + place(delivery.numbers.back()));
    } else if (count > static_cast<std::int64_t>(delivery.refused.size())) {
      say(fmt::format("  nothing of that batch was stored: {} of {} to {}",
                      count_text(count, "record"), place(delivery.numbers.front()),
                      place(delivery.numbers.back())));
    }
  }

  void skip_line(std::uint64_t line) { skipped_.push_back(line); }

  /// Where record `number` came from.
  std::string place(std::uint64_t number) const {
    std::uint64_t line = number + 1;
    for (const std::uint64_t skipped : skipped_) line += skipped <= line ? 1 : 0;
    return "line " + std::to_string(line);
  }

  std::int64_t stored() const { return stored_; }
  std::int64_t refused() const { return refused_; }
  const Delivery& last() const { return last_; }

 private:
  static constexpr int kToldMax = 20;
  std::vector<std::uint64_t> skipped_{};
  std::int64_t stored_ = 0;
  std::int64_t refused_ = 0;
  int told_ = 0;
  Delivery last_{};
};

/// A line that is overwritten twice a second, if standard error is a terminal.
class Progress {
 public:
  void show(std::int64_t stored, std::size_t bytes) {
    if (!terminal_ || steady_clock::now() < next_) return;
    next_ = steady_clock::now() + milliseconds(500);
    const std::chrono::duration<double> took = steady_clock::now() - start_;
    const auto rate = static_cast<std::int64_t>(static_cast<double>(bytes) / took.count());
    std::fprintf(stderr, "\r%s stored, %s read, %s/s   ", count_text(stored, "record").c_str(),
                 size_text(static_cast<std::int64_t>(bytes)).c_str(), size_text(rate).c_str());
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  const steady_clock::time_point start_ = steady_clock::now();
  steady_clock::time_point next_ = start_ + milliseconds(500);
  bool shown_ = false;
};

Result<std::vector<Header>> parse_headers(const std::vector<std::string>& texts) {
  std::vector<Header> headers;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return Error{ErrorKind::kInvalidRecord, "--header " + text + ": write it NAME=VALUE"};
    }
    headers.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return headers;
}

Result<Record> record_of_text(const ProduceOptions& options, std::string&& line) {
  Record record;
  if (options.key_separator) {
    const std::size_t at = line.find(*options.key_separator);
    if (at == std::string::npos) {
      return Error{ErrorKind::kInvalidRecord, "has no key: the separator is not in it"};
    }
    record.key = line.substr(0, at);
    line.erase(0, at + options.key_separator->size());
  }
  record.value = std::move(line);
  if (options.null_value && record.value == options.null_value) record.value.reset();
  return record;
}

Result<Record> record_of_line(const ProduceOptions& options, std::string&& line) {
  auto record =
      options.format == "json" ? record_of_json(line) : record_of_text(options, std::move(line));
  if (!record) return record;
  if (options.partition) record->partition = options.partition;
  if (options.timestamp && !record->timestamp) record->timestamp = options.timestamp;
  return record;
}

Result<> send_line(const ProduceOptions& options, std::string&& line, Producer& producer) {
  auto record = record_of_line(options, std::move(line));
  if (!record) return record.error();
  return producer.send(*record);
}

// Reads to the end, or to the first line that is not a record.
Result<> send_lines(const ProduceOptions& options, LineReader& lines, Producer& producer,
                    Outcome& outcome) {
  Progress progress;
  std::string line;
  std::uint64_t number = 0;
  Result<> result;
  while (result) {
    const auto got = lines.next(line, kQuiet);
    if (!got) {
      result = got.error();
    } else if (*got == LineReader::Got::kEnd) {
      break;
    } else if (*got == LineReader::Got::kNothingYet) {
      result = producer.flush();
    } else {
      ++number;
      if (options.format == "json" && line.find_first_not_of(" \t\r") == std::string::npos) {
        outcome.skip_line(number);
        continue;
      }
      result = send_line(options, std::move(line), producer);
      if (!result)
        result =
            Error{result.error().kind, fmt::format("line {}: {}", number, result.error().text)};
      progress.show(outcome.stored(), lines.bytes_read());
    }
  }
  progress.clear();
  if (auto flushed = producer.flush(); result && !flushed) result = flushed.error();
  return result;
}

int produce_lines(const ProduceOptions& options, Producer& producer, Outcome& outcome) {
  int descriptor = STDIN_FILENO;
  if (options.file && *options.file != "-") {
    descriptor = ::open(options.file->c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return fail("cannot read " + *options.file + ": " + std::strerror(errno));
  } else if (::isatty(STDIN_FILENO) == 1) {
    say("reading lines; Ctrl-D ends");
  }
  LineReader lines(descriptor);
  const auto sent = send_lines(options, lines, producer, outcome);
  if (descriptor != STDIN_FILENO) ::close(descriptor);
  say(count_text(outcome.stored(), "record") + " stored" +
      (outcome.refused() > 0 ? ", " + std::to_string(outcome.refused()) + " refused" : ""));
  if (!sent) return fail(sent.error());
  return outcome.refused() > 0 ? kFailed : kDone;
}

int produce_one(const ProduceOptions& options, Producer& producer, Outcome& outcome) {
  auto headers = parse_headers(options.headers);
  if (!headers) return fail(headers.error());
  Result<> sent = producer.send({.key = options.key,
                                 .value = options.tombstone ? Field() : options.value,
                                 .headers = *std::move(headers),
                                 .timestamp = options.timestamp,
                                 .partition = options.partition});
  if (sent) sent = producer.flush();
  if (!sent) return outcome.refused() > 0 ? kFailed : fail(sent.error());
  if (outcome.refused() > 0) return kFailed;
  const Delivery& stored = outcome.last();
  print(options.topic + " partition " + std::to_string(stored.partition));
  print(stored.base_offset >= 0 ? ", offset " + std::to_string(stored.base_offset) + "\n" : "\n");
  return finish_output();
}

template <class Value>
void add_choice(CLI::App& command, const char* name, const std::map<std::string, Value>& words,
                Value& target, const char* text) {
  std::vector<std::string> names;
  for (const auto& [word, value] : words) names.push_back(word);
  command
      .add_option_function<std::string>(
          name, [&words, &target](const std::string& word) { target = words.at(word); }, text)
      ->check(CLI::IsMember(names));
}

int produce(const Program& program, const ProduceOptions& options) {
  const bool one = options.value || options.tombstone;
  if (!one && (options.key || !options.headers.empty())) {
    fail("say the value: --value TEXT, or --tombstone to delete the key");
    return kBadCommandLine;
  }
  Outcome outcome;
  auto producer = Producer::open(
      program.connection(), options.topic,
      {.batch = {.compression = {options.codec}},
       .acks = options.acks,
       .idempotent = options.idempotent,
       .on_delivery = [&outcome](const Delivery& delivery) { outcome.take(delivery); }});
  if (!producer) return fail(producer.error());
  return one ? produce_one(options, **producer, outcome)
             : produce_lines(options, **producer, outcome);
}

}  // namespace

void add_produce(Program& program) {
  CLI::App& command = add_command(
      program, program.app, "produce",
      {"Writes one record, or lines from a file or standard input",
       "Examples: lastword produce customer-addresses --key c-7 --value Oslo\n"
       "          lastword produce customer-addresses --key c-7 --tombstone\n"
       "          lastword produce customer-addresses --file changes.jsonl --format json\n\n"
       "A JSON line is {\"key\": \"c-7\", \"value\": \"Oslo\", \"headers\": {\"source\": "
       "\"web\"}},\n"
       "with \"value\": null for a tombstone; \"timestamp\" and \"partition\" may be given. Bytes\n"
       "that are no text are in \"key_base64\" and \"value_base64\". `consume --format json`\n"
       "writes such lines."});
  auto options = std::make_shared<ProduceOptions>();
  command.add_option("topic", options->topic, "Topic to write to")->required();
  auto* key = command.add_option("--key", options->key, "Key of the one record");
  auto* value = command.add_option("--value", options->value, "Value of the one record");
  auto* tombstone =
      command.add_flag("--tombstone", options->tombstone, "Delete the key: a record without value");
  auto* headers =
      command.add_option("--header", options->headers, "NAME=VALUE; may be given several times")
          ->allow_extra_args(false);
  auto* file =
      command.add_option("--file", options->file, "Lines of this file; - is standard input");
  tombstone->excludes(value);
  for (CLI::Option* of_one : {key, value, tombstone, headers}) file->excludes(of_one);
  command.add_option("--partition", options->partition,
                     "Partition, instead of the one that the key says");
  command.add_option("--timestamp", options->timestamp, "Milliseconds since 1970, instead of now");
  command.add_option("--format", options->format, "Of the lines: text (default) or json")
      ->check(CLI::IsMember({"text", "json"}));
  command.add_option("--key-separator", options->key_separator,
                     "Text lines are key, this (\\t is a tab), value; without it they have no key");
  command.add_option("--null-value", options->null_value,
                     "Text lines with this value are tombstones");
  static const std::map<std::string, Codec> kCodecs{{"none", Codec::kNone},
                                                    {"gzip", Codec::kGzip},
                                                    {"snappy", Codec::kSnappy},
                                                    {"lz4", Codec::kLz4},
                                                    {"zstd", Codec::kZstd}};
  static const std::map<std::string, Acks> kAcks{
      {"all", Acks::kAll}, {"1", Acks::kLeader}, {"0", Acks::kNone}};
  add_choice(command, "--compression", kCodecs, options->codec,
             "none (default), gzip, snappy, lz4 or zstd");
  add_choice(command, "--acks", kAcks, options->acks,
             "Wait for the disk (all, the default), for the write (1), not at all (0)");
  command.add_flag("!--no-idempotence", options->idempotent,
                   "Resends may store a record twice; without producer ids");
  command.callback([&program, options] {
    if (options->key_separator) {
      options->key_separator = unescaped(*options->key_separator);
      if (!options->key_separator || options->key_separator->empty()) {
        throw CLI::ValidationError("--key-separator", "expected text; \\t and \\xNN are known");
      }
    }
    program.action = [&program, options] { return produce(program, *options); };
  });
}

}  // namespace lastword::client
