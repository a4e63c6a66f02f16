// SPDX-License-Identifier: Apache-2.0
// The daemon lastwordd: options, log, signals. Exit codes: 0 stopped as asked; 1 could not start or
// could not save everything when it stopped; 2 bad command line or settings.
#include <malloc.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "config/host_port.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/settings_page.h"
#include "server/broker.h"
#include "server/stop_bound.h"
#include "storage/clock.h"
#include "storage/posix_file_system.h"

namespace lastword::server {
namespace {

constexpr int kStopped = 0;
constexpr int kFailed = 1;
constexpr int kBadSettings = 2;
constexpr auto kDiskGrace = std::chrono::seconds(5);

struct CommandLine {
  std::string config{};
  std::string data_dir{};
  std::string listen{};
  std::string advertise{};
  double clock_speed = 1.0;
  bool check_config = false;
  bool print_defaults = false;
  bool print_schema = false;
};

void report(storage::Severity severity, const std::string& line) {
  switch (severity) {
    case storage::Severity::kInfo:
      return spdlog::info("{}", line);
    case storage::Severity::kWarning:
      return spdlog::warn("{}", line);
    case storage::Severity::kError:
      return spdlog::error("{}", line);
  }
}

void set_up_log() {
  auto log = spdlog::stderr_color_mt("lastwordd");
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %v");
  log->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(log));
}

// Large runs of memory go back to the system when they are freed, and threads share few arenas: an
// idle broker stays small after a busy hour.
void keep_memory_small() {
  constexpr int kLargeBytes = 256 * 1024;
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  mallopt(M_TRIM_THRESHOLD, 2 * kLargeBytes);
  mallopt(M_ARENA_MAX, 2);
}

// As many descriptors as the system lets us have.
rlim_t raise_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return RLIM_INFINITY;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur;
}

// One descriptor a connection, limits.open_files, and a few: with fewer, the files get at most half
// of them.
void fit_open_files(Limits& limits) {
  constexpr rlim_t kFew = 64;
  constexpr rlim_t kFilesMin = 16;
  const rlim_t allowed = raise_open_files();
  const auto wanted = static_cast<rlim_t>(limits.connections + limits.open_files) + kFew;
  if (allowed >= wanted) return;
  const rlim_t files = std::max(kFilesMin, (allowed - std::min(allowed, kFew)) / 2);
  limits.open_files = std::min(limits.open_files, static_cast<std::int64_t>(files));
  spdlog::warn(
      "the system allows {} descriptors, limits.connections and limits.open_files may want {}: "
      "limits.open_files is {}, and not all connections may be accepted; raise `ulimit -n`, or "
      "lower them",
      allowed, wanted, limits.open_files);
}

/// Settings from file and command line, or nothing when they are bad (which has been said).
std::optional<BrokerOptions> read_settings(const CommandLine& line) {
  BrokerOptions options;
  if (!line.config.empty()) {
    LoadResult loaded = load_options(line.config);
    if (const auto* error = std::get_if<std::string>(&loaded)) {
      spdlog::error("{}", *error);
      return std::nullopt;
    }
    options = std::get<LoadedOptions>(loaded).options;
    for (const std::string& note : std::get<LoadedOptions>(loaded).notes) spdlog::warn("{}", note);
  }
  if (!line.data_dir.empty()) options.data_dir = line.data_dir;
  if (!line.listen.empty()) {
    if (!parse_host_port(line.listen)) {
      spdlog::error("--listen {} is not HOST:PORT, such as 127.0.0.1:9092", line.listen);
      return std::nullopt;
    }
    options.listen = line.listen;
    // Clients would be sent to the address of the file's listener.
    if (line.advertise.empty() && !options.advertise.empty()) {
      spdlog::warn("--listen: clients are told to connect there, not to advertise {} of {}",
                   std::exchange(options.advertise, ""), line.config);
    }
  }
  if (!line.advertise.empty()) {
    if (!parse_host_port(line.advertise)) {
      spdlog::error("--advertise {} is not HOST:PORT, such as broker.example:9092", line.advertise);
      return std::nullopt;
    }
    options.advertise = line.advertise;
  }
  fit_open_files(options.limits);
  return options;
}

void reload(Broker& broker, const CommandLine& line) {
  const auto options = read_settings(line);
  if (!options) return spdlog::error("nothing was reloaded: the settings stay as they were");
  const auto notes = broker.reload(*options);
  if (!notes) {
    return spdlog::error("nothing was reloaded: {}", notes.error().text);
  }
  for (const std::string& note : *notes) spdlog::warn("{}", note);
  spdlog::info("reloaded {}", line.config.empty() ? "the built-in settings" : line.config);
}

void handle_signals(asio::io_context& io, asio::signal_set& signals, Broker& broker,
                    const CommandLine& line) {
  signals.async_wait([&](const asio::error_code& error, int signal) {
    if (error) return;
    if (signal != SIGHUP) {
      spdlog::info("stopping on {}", signal == SIGTERM ? "SIGTERM" : "SIGINT");
      return io.stop();
    }
    reload(broker, line);
    handle_signals(io, signals, broker, line);
  });
}

/// While it lives, threads that are started take no signals: these come to the main thread, and
/// interrupt no call of another.
class NoSignalsForThreads {
 public:
  NoSignalsForThreads() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~NoSignalsForThreads() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignalsForThreads(const NoSignalsForThreads&) = delete;
  NoSignalsForThreads& operator=(const NoSignalsForThreads&) = delete;

 private:
  sigset_t before_{};
};

Result<std::unique_ptr<Broker>> start_broker(Broker::Setup setup) {
  const NoSignalsForThreads no_signals;
  return Broker::start(std::move(setup));
}

int serve(const CommandLine& line, const BrokerOptions& options) {
  keep_memory_small();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a full disk
  asio::io_context io(1);
  asio::signal_set signals(io, SIGTERM, SIGINT, SIGHUP);  // from here on none is lost

  storage::PosixFileSystem files;
  const storage::SystemClock clock(line.clock_speed);
  auto broker = start_broker({options, files, clock, report});
  if (!broker) {
    spdlog::error("{}", broker.error().text);
    return kFailed;
  }
  spdlog::info("ready: listening on {} (port {}), data in {}, durability {}", options.listen,
               (*broker)->port(), options.data_dir,
               options.durability == Durability::kFsync ? "fsync" : "os");
  handle_signals(io, signals, **broker, line);
  io.run();
  // Stopping keeps to limits.shutdown_ms itself where the disk answers.
  const StopBound bound((*broker)->stop_time_max() + kDiskGrace, [] {
    spdlog::error(
        "the disk did not answer within limits.shutdown_ms: leaving without it; the next start "
        "recovers what was not saved");
    std::_Exit(kFailed);
  });
  const auto stopped = (*broker)->stop();
  if (!stopped && stopped.error().kind == ErrorKind::kCancelled) {
    spdlog::warn("the next start has to look into logs again: {}", stopped.error().text);
  } else if (!stopped) {
    spdlog::error("not everything was saved, the next start recovers it: {}", stopped.error().text);
    return kFailed;
  }
  spdlog::info("stopped");
  return kStopped;
}

int run(int count, char** words) {
  CommandLine line;
  CLI::App app{
      "lastwordd keeps the last word of every key: a log broker for Kafka clients.\n"
      "Example: lastwordd --config config/lastword.json --data-dir /var/lib/lastword"};
  app.add_option("--config", line.config, "Settings file (JSON, // comments allowed)");
  app.add_option("--data-dir", line.data_dir,
                 "Folder for the data, instead of the file's data_dir");
  app.add_option("--listen", line.listen, "HOST:PORT to listen on, instead of the file's listen");
  app.add_option("--advertise", line.advertise,
                 "HOST:PORT that clients are told to connect to, instead of the file's advertise");
  app.add_option("--clock-speed", line.clock_speed,
                 "For demos and tests: the broker's clock runs this many times as fast")
      ->check(CLI::Range(0.001, 1e6))
      ->check([](const std::string& text) {  // a range lets "nan" through
        return text.find_first_not_of("0123456789.eE+-") == std::string::npos
                   ? std::string()
                   : text + " is no number";
      });
  app.add_flag("--check-config", line.check_config, "Check the settings and stop");
  app.add_flag("--print-defaults", line.print_defaults, "Print every setting with its default");
  app.add_flag("--print-schema", line.print_schema, "Print the JSON schema of the settings file");
  app.set_version_flag("--version", "lastwordd " LASTWORD_VERSION);
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kStopped : kBadSettings;
  }
  set_up_log();
  if (line.print_defaults)
    return std::fputs(print_defaults().c_str(), stdout) < 0 ? kFailed : kStopped;
  if (line.print_schema)
    return std::fputs(settings_schema().c_str(), stdout) < 0 ? kFailed : kStopped;
  const auto options = read_settings(line);
  if (!options) return kBadSettings;
  if (line.check_config) {
    std::printf("%s: the settings are good\n",
                line.config.empty() ? "built-in defaults" : line.config.c_str());
    return kStopped;
  }
  return serve(line, *options);
}

}  // namespace
}  // namespace lastword::server

int main(int count, char** words) { return lastword::server::run(count, words); }
