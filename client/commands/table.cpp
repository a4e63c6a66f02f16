// SPDX-License-Identifier: Apache-2.0
// `lastword table`: the current state of a topic, and what changes in it.
#include <signal.h>

#include <algorithm>
#include <cstdio>

#include "client/commands/command.h"
#include "client/commands/usage.h"
#include "client/json_lines.h"
#include "client/partitioner.h"
#include "client/table_reader.h"
#include "client/text.h"

namespace lastword::client {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kWait{500};
constexpr milliseconds kSaveEvery{10'000};
constexpr std::size_t kGoneToldMax = 100;
constexpr std::size_t kWarningsMax = 10;

struct TableOptions {
  std::string topic{};
  bool follow = false;
  std::optional<std::string> state_file{};
  std::string format = "text";
};

volatile sig_atomic_t stop_asked = 0;

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

class TableCommand {
 public:
  explicit TableCommand(const TableOptions& options) : options_(options) {}

  Result<> run(Link& link) {
    TableReader::Options reading;
    if (options_.state_file) {
      auto state = load_table_state(*options_.state_file);
      if (!state) return state.error();
      reading.state = *std::move(state);
      stop_on_signals();
    }
    reading.on_change = [this](const TableChange& change) {
      if (!printed_) return;
      print_line(change.key, change.value ? Field(*change.value) : Field());
      if (change.value != nullptr && change.old_value == nullptr) new_keys_.push_back(change.key);
    };
    reading.on_missed = [this](std::int32_t partition, const std::string& reason) {
      say(where(partition) + ": " + reason + "; reading it again from the log start");
    };
    reading.on_rebuilt = [this](const Rebuilt& rebuilt) { tell(rebuilt); };
    auto reader = TableReader::open(link, options_.topic, std::move(reading));
    if (!reader) return reader.error();
    reader_ = *std::move(reader);
    LW_TRY(read_to_the_end());
    print_table();
    printed_ = true;
    if (std::fflush(stdout) != 0) return {};  // finish_output() says it
    LW_TRY(save());
    if (!options_.follow) return {};
    outlast_restarts(link, [] { return stop_asked != 0; });
    return follow();
  }

 private:
  Result<> read_to_the_end() {
    while (!reader_->caught_up()) {
      if (stop_asked != 0) {
        LW_TRY(save());
        return Error{ErrorKind::kCancelled, "stopped before the whole table was read"};
      }
      LW_TRY(reader_->step(kWait));
    }
    return {};
  }

  Result<> follow() {
    auto next_save = steady_clock::now() + kSaveEvery;
    while (stop_asked == 0) {
      if (auto stepped = reader_->step(kWait); !stepped && stop_asked == 0) return stepped.error();
      if (std::fflush(stdout) != 0) break;
      for (const std::string& key : std::exchange(new_keys_, {})) warn_of_two_places(key);
      if (steady_clock::now() < next_save) continue;
      LW_TRY(save());
      next_save = steady_clock::now() + kSaveEvery;
    }
    return save();
  }

  Result<> save() {
    if (!options_.state_file) return {};
    const auto state = reader_->state();
    return state ? save_table_state(*options_.state_file, *state) : Result<>();
  }

  void print_table() {
    std::vector<std::pair<const std::string*, const std::string*>> rows;
    rows.reserve(reader_->size());
    reader_->for_each([&rows](const std::string& key, const std::string& value) {
      rows.emplace_back(&key, &value);
    });
    std::ranges::sort(rows, [](const auto& a, const auto& b) { return *a.first < *b.first; });
    for (const auto& [key, value] : rows) print_line(*key, *value);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const std::string& key = *rows[i].first;
      if (key == *rows[i - 1].first && (i < 2 || key != *rows[i - 2].first)) {
        warn_of_two_places(key);
      }
    }
  }

  void warn_of_two_places(const std::string& key) {
    const auto partitions = reader_->partitions_of(key);
    if (partitions.size() < 2 || warnings_ > kWarningsMax) return;
    if (warnings_++ == kWarningsMax) return say("more keys are in two partitions");
    std::string text = "key " + visible(key) + " is in partitions ";
    for (std::size_t i = 0; i < partitions.size(); ++i) {
      if (i > 0) text += i + 1 < partitions.size() ? ", " : " and ";
      text += std::to_string(partitions[i]);
    }
    const auto count = static_cast<std::int32_t>(reader_->partition_count());
    say(text + ": a write or a delete reaches only one of them, by default " +
        std::to_string(partition_of_key(key, count)) + "; lastword produce " + options_.topic +
        " --key " + visible(key) + " --tombstone --partition N deletes it in N");
  }

  void print_line(const std::string& key, const Field& value) {
    print(options_.format == "json" ? to_json(key, value) : visible(key) + "\t" + visible(value));
    print("\n");
  }

  void tell(const Rebuilt& rebuilt) {
    std::string text = where(rebuilt.partition) + ": rebuilt; ";
    text += rebuilt.gone.empty() ? "no key is gone" : "gone since: ";
    for (std::size_t i = 0; i < std::min(rebuilt.gone.size(), kGoneToldMax); ++i) {
      text += (i > 0 ? ", " : "") + visible(rebuilt.gone[i]);
    }
    if (rebuilt.gone.size() > kGoneToldMax) {
      text += " and " + std::to_string(rebuilt.gone.size() - kGoneToldMax) + " more";
    }
    say(text);
  }

  std::string where(std::int32_t partition) const {
    return options_.topic + " partition " + std::to_string(partition);
  }

  const TableOptions& options_;
  std::unique_ptr<TableReader> reader_{};
  bool printed_ = false;
  std::vector<std::string> new_keys_{};  // since the last step
  std::size_t warnings_ = 0;
};

int table(const Program& program, const TableOptions& options) {
  Link link(program.connection());
  TableCommand command(options);
  if (auto result = command.run(link); !result) return fail(result.error());
  return finish_output();
}

}  // namespace

void add_table(Program& program) {
  CLI::App& command = add_command(
      program, program.app, "table",
      {"Prints the current state of a topic: each key, a tab, its latest value",
       "Examples: lastword table customer-addresses\n"
       "          lastword table customer-addresses --follow --state addresses.state\n\n"
       "With --state the next run goes on where this one ended. Should deletes have been missed\n"
       "in between, standard error says so, the table is read again from the log start, and the\n"
       "keys that are gone are named. In text, (null) and (empty) stand for those; tabs, line "
       "ends,\n"
       "other control characters and backslashes are written \\t, \\n, \\xNN, \\\\."});
  auto options = std::make_shared<TableOptions>();
  add_topic(command, options->topic, "Topic to read");
  command.add_flag("--follow", options->follow,
                   "Then print what changes; (null) stands for a deleted key. Ends with Ctrl-C");
  command.add_option("--state", options->state_file, "File that keeps the table between runs")
      ->type_name("FILE");
  command.add_option("--format", options->format, "text (default) or json")
      ->check(one_of({"text", "json"}))
      ->type_name("FORMAT");
  command.callback([&program, options] {
    program.action = [&program, options] { return table(program, *options); };
  });
}

}  // namespace lastword::client
