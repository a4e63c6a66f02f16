// SPDX-License-Identifier: Apache-2.0
// `lastword produce`: one record, or lines of text or JSON from a file or standard input.
#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "client/admin.h"
#include "client/commands/command.h"
#include "client/commands/usage.h"
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
  bool keep_partition = false;
  std::optional<std::int64_t> timestamp{};
  std::optional<std::string> file{};
  std::string format = "text";
  std::optional<std::string> key_separator{};
  std::optional<std::string> null_value{};
  Codec codec = Codec::kNone;
  Acks acks = Acks::kAll;
  bool not_idempotent = false;
  bool one() const { return value || tombstone; }  // record, not lines
};

/// What became of the records, in words.
class Outcome {
 public:
  explicit Outcome(bool of_lines) : of_lines_(of_lines) {}

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
    say(of_lines_ ? delivery.error->text : of_one(delivery.error->text));
    if (of_lines_) tell_lines(delivery);
  }

  void skip_line(std::uint64_t line) { skipped_.push_back(line); }

  /// Where record `number` came from.
  std::string place(std::uint64_t number) const {
    std::uint64_t line = number + 1;
    for (const std::uint64_t skipped : skipped_) line += skipped <= line ? 1 : 0;
    return "line " + std::to_string(line);
  }

  std::string summary() const {
    return count_text(stored_, "record") + " stored" +
           (refused_ > 0 ? ", " + std::to_string(refused_) + " refused" : "");
  }
  std::int64_t stored() const { return stored_; }
  std::int64_t refused() const { return refused_; }
  const Delivery& last() const { return last_; }

 private:
  void tell_lines(const Delivery& delivery) const {
    const auto count = static_cast<std::int64_t>(delivery.numbers.size());
    for (const auto& record : delivery.refused) {
      say("  " + place(record.number) + ": " + without_index(record.text));
    }
    if (delivery.refused.empty()) {
      say("  " + place(delivery.numbers.front()) + " to " + place(delivery.numbers.back()));
    } else if (count > static_cast<std::int64_t>(delivery.refused.size())) {
      say(fmt::format("  nothing of that batch was stored: {} of {} to {}",
                      count_text(count, "record"), place(delivery.numbers.front()),
                      place(delivery.numbers.back())));
    }
  }

  // "record 3 has no key": which of the batch it was is nobody's business.
  static std::string without_index(const std::string& text) {
    constexpr std::string_view kRecord = "record ";
    if (!text.starts_with(kRecord)) return text;
    const std::size_t end = text.find_first_not_of("0123456789", kRecord.size());
    return end == std::string::npos || text[end] != ' ' ? text : text.substr(end + 1);
  }
  static std::string of_one(std::string text) {
    constexpr std::string_view kRecords = "refused records: record 0 ";
    const std::size_t at = text.find(kRecords);
    if (at == std::string::npos) return text;
    return text.replace(at, kRecords.size(), "refused the record: it ");
  }

  static constexpr int kToldMax = 20;
  const bool of_lines_;
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

std::vector<Header> parse_headers(const std::vector<std::string>& texts) {
  std::vector<Header> headers;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    headers.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return headers;
}

Result<Record> record_of_text(const ProduceOptions& options, std::string&& line) {
  Record record;
  if (options.key_separator) {
    const std::size_t at = line.find(*options.key_separator);
    if (at == std::string::npos) {
      const bool tab = *options.key_separator == "\t";
      return Error{ErrorKind::kInvalidRecord,
                   fmt::format("no {} in it, so it has no key (--key-separator)",
                               tab ? "tab" : "\"" + visible(*options.key_separator) + "\"")};
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
  if (!options.keep_partition) record->partition = options.partition;
  if (options.timestamp && !record->timestamp) record->timestamp = options.timestamp;
  return record;
}

Result<> send_line(const ProduceOptions& options, std::string&& line, Producer& producer) {
  auto record = record_of_line(options, std::move(line));
  if (!record) return record.error();
  return producer.send(*record);
}

// With what became of the lines around it.
Error at_line(std::uint64_t number, const Error& error, const Outcome& outcome) {
  std::string rest = "; nothing was sent";
  if (number > 1) {
    const char* before = outcome.refused() == 0 ? "the lines before it are stored, " : "";
    rest = fmt::format("; {}nothing from line {} on was sent", before, number);
  }
  return {error.kind, fmt::format("line {}: {}{}", number, error.text, rest)};
}

// Reads to the end, or to the first line that is not a record.
Result<> send_lines(const ProduceOptions& options, LineReader& lines, Producer& producer,
                    Outcome& outcome) {
  Progress progress;
  std::string line;
  std::uint64_t number = 0;
  bool bad_line = false;
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
      bad_line = !result;
      progress.show(outcome.stored(), lines.bytes_read());
    }
  }
  progress.clear();
  const auto flushed = producer.flush();
  if (bad_line && flushed) return at_line(number, result.error(), outcome);
  return result && !flushed ? flushed : result;
}

int produce_lines(const ProduceOptions& options, Producer& producer, Outcome& outcome) {
  int descriptor = STDIN_FILENO;
  if (options.file && *options.file != "-") {
    descriptor = ::open(options.file->c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return fail("cannot read " + *options.file + ": " + std::strerror(errno));
  } else if (::isatty(STDIN_FILENO) == 1) {
    say(options.format == "json" ? "reading lines of JSON from the terminal; Ctrl-D ends"
        : options.key_separator  ? "reading lines of key and value from the terminal; Ctrl-D ends"
                                 : "reading lines from the terminal, one value a line "
                                   "(--key-separator for keys); Ctrl-D ends");
  }
  LineReader lines(descriptor);
  const auto sent = send_lines(options, lines, producer, outcome);
  if (descriptor != STDIN_FILENO) ::close(descriptor);
  if (sent || outcome.stored() + outcome.refused() > 0) say(outcome.summary());
  if (!sent) return fail(sent.error());
  return outcome.refused() > 0 ? kFailed : kDone;
}

int produce_one(const ProduceOptions& options, Producer& producer, Outcome& outcome) {
  Result<> sent = producer.send({.key = options.key,
                                 .value = options.tombstone ? Field() : options.value,
                                 .headers = parse_headers(options.headers),
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
void add_choice(CLI::App& command, const char* name,
                const std::vector<std::pair<std::string, Value>>& words, Value& target,
                const char* text) {
  std::vector<std::string> names;
  for (const auto& [word, value] : words) names.push_back(word);
  command
      .add_option_function<std::string>(
          name,
          [&words, &target](const std::string& word) {
            target = std::ranges::find(words, word, &std::pair<std::string, Value>::first)->second;
          },
          text)
      ->check(one_of(names))
      ->type_name("WORD");
}

// A broker refuses records without keys in a compacted topic, each by itself: said here at once.
Result<> check_keys(const Program& program, const ProduceOptions& options) {
  const bool keys =
      options.one() ? options.key.has_value() : options.format == "json" || options.key_separator;
  if (keys) return {};
  Link link(program.connection());
  if (Admin(link).cleanup_policy(options.topic).find("compact") == std::string::npos) return {};
  return Error{ErrorKind::kInvalidRecord,
               "topic " + options.topic + " is compacted, so " +
                   (options.one() ? "a record needs a key: add --key TEXT"
                                  : "each line needs a key: add --key-separator '\\t' if a tab "
                                    "stands between key and value; nothing was sent")};
}

int produce(const Program& program, const ProduceOptions& options) {
  Outcome outcome(!options.one());
  auto producer = Producer::open(
      program.connection(), options.topic,
      {.batch = {.compression = {options.codec}},
       .acks = options.acks,
       .idempotent = !options.not_idempotent,
       .on_delivery = [&outcome](const Delivery& delivery) { outcome.take(delivery); }});
  if (!producer) return fail(producer.error());
  if (auto checked = check_keys(program, options); !checked) return fail(checked.error());
  return options.one() ? produce_one(options, **producer, outcome)
                       : produce_lines(options, **producer, outcome);
}

void check(ProduceOptions& options) {
  if (!options.one() && (options.key || !options.headers.empty())) {
    throw CLI::ParseError("say the value: --value TEXT, or --tombstone to delete the key",
                          kBadCommandLine);
  }
  if (!options.key_separator) return;
  options.key_separator = unescaped(*options.key_separator);
  if (!options.key_separator || options.key_separator->empty()) {
    throw CLI::ValidationError("--key-separator", "expected text; \\t and \\xNN are known");
  }
}

void add_record_options(CLI::App& command, ProduceOptions& options) {
  auto* key = command.add_option("--key", options.key, "Key of the one record");
  auto* value = command.add_option("--value", options.value, "Value of the one record");
  auto* tombstone =
      command.add_flag("--tombstone", options.tombstone, "Delete the key: a record without value");
  auto* headers = command
                      .add_option("--header", options.headers,
                                  "Header of the one record; may be given several times")
                      ->allow_extra_args(false)
                      ->check(name_and_value())
                      ->type_name("NAME=VALUE");
  auto* file =
      command.add_option("--file", options.file, "Lines of this file; - is standard input")
          ->type_name("FILE");
  tombstone->excludes(value);
  for (CLI::Option* of_one : {key, value, tombstone, headers}) file->excludes(of_one);
}

void add_line_options(CLI::App& command, ProduceOptions& options) {
  auto* partition = command
                        .add_option("--partition", options.partition,
                                    "Partition, instead of the one that the key says")
                        ->check(whole_number(0))
                        ->type_name("N");
  command
      .add_flag("--keep-partition", options.keep_partition,
                "Write each line of JSON to its \"partition\", if it has one")
      ->excludes(partition);
  command
      .add_option("--timestamp", options.timestamp,
                  "Milliseconds since 1970, instead of now; the \"timestamp\" of a line goes first")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->type_name("MS");
  command.add_option("--format", options.format, "Of the lines: text (default) or json")
      ->check(one_of({"text", "json"}))
      ->type_name("FORMAT");
  command.add_option("--key-separator", options.key_separator,
                     "Text lines are key, this (\\t is a tab), value; without it they have no key");
  command.add_option("--null-value", options.null_value,
                     "Text lines with this value are tombstones");
}

void add_sending_options(CLI::App& command, ProduceOptions& options) {
  static const std::vector<std::pair<std::string, Codec>> kCodecs{{"none", Codec::kNone},
                                                                  {"gzip", Codec::kGzip},
                                                                  {"snappy", Codec::kSnappy},
                                                                  {"lz4", Codec::kLz4},
                                                                  {"zstd", Codec::kZstd}};
  static const std::vector<std::pair<std::string, Acks>> kAcks{
      {"all", Acks::kAll}, {"1", Acks::kLeader}, {"0", Acks::kNone}};
  add_choice(command, "--compression", kCodecs, options.codec,
             "none (default), gzip, snappy, lz4 or zstd");
  add_choice(command, "--acks", kAcks, options.acks,
             "Wait for the disk (all, the default), for the write (1), not at all (0)");
  command.add_flag("--no-idempotence", options.not_idempotent,
                   "Do without producer ids; a resend may then store a record twice");
}

}  // namespace

void add_produce(Program& program) {
  CLI::App& command = add_command(
      program, program.app, "produce",
      {"Writes one record, or lines from a file or standard input",
       "Examples: lastword produce customer-addresses --key c-7 --value Oslo\n"
       "          lastword produce customer-addresses --key c-7 --tombstone\n"
       "          printf \"c-7\\tOslo\\n\" | lastword produce customer-addresses --key-separator "
       "\"\\t\"\n"
       "          echo '{\"key\": \"c-7\", \"value\": \"Oslo\"}' | lastword produce "
       "customer-addresses "
       "--format json\n\n"
       "A JSON line is {\"key\": \"c-7\", \"value\": \"Oslo\", \"headers\": {\"source\": "
       "\"web\"}},\n"
       "with \"value\": null for a tombstone; \"timestamp\" may be given. Bytes that are no text "
       "are\n"
       "in \"key_base64\" and \"value_base64\". `consume --format json` writes such lines. Their\n"
       "\"offset\" is read over; so is \"partition\", since the key says it, without "
       "--keep-partition."});
  auto options = std::make_shared<ProduceOptions>();
  add_topic(command, options->topic, "Topic to write to");
  add_record_options(command, *options);
  add_line_options(command, *options);
  add_sending_options(command, *options);
  command.callback([&program, options] {
    check(*options);
    program.action = [&program, options] { return produce(program, *options); };
  });
}

}  // namespace lastword::client
