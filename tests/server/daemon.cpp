// SPDX-License-Identifier: Apache-2.0
#include "tests/server/daemon.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <utility>

namespace lastword::test {

namespace {

struct Child {
  pid_t pid = -1;
  int output = -1;
};

Child spawn(const std::vector<std::string>& arguments,
            std::optional<rlim_t> open_files = std::nullopt) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<std::string> words{LASTWORD_BINARY_DIR "/lastwordd"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid == 0) {
    const rlimit files{open_files.value_or(0), open_files.value_or(0)};
    if (open_files && ::setrlimit(RLIMIT_NOFILE, &files) != 0) ::_exit(126);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

}  // namespace

Run run_daemon(const std::vector<std::string>& arguments) {
  const Child child = spawn(arguments);
  Run run;
  std::array<char, 4096> bytes{};
  for (ssize_t n = 0; (n = ::read(child.output, bytes.data(), bytes.size())) > 0;) {
    run.output.append(bytes.data(), static_cast<std::size_t>(n));
  }
  ::close(child.output);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  run.exit_code = code_of(status);
  return run;
}

Daemon::Daemon(const TemporaryDirectory& folder, std::vector<std::string> arguments,
               std::optional<rlim_t> open_files) {
  arguments.insert(arguments.end(), {"--data-dir", folder / "data"});
  if (std::ranges::find(arguments, "--listen") == arguments.end()) {
    arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0"});
  }
  const auto begun = std::chrono::steady_clock::now();
  const Child child = spawn(arguments, open_files);
  pid_ = child.pid;
  output_ = child.output;
  collector_ = std::thread([this] { collect(); });
  if (!says("ready: ")) return;
  started_within_ = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  for (const std::string& line : lines()) {
    const auto at = line.find("(port ");
    if (at != std::string::npos) {
      port_ = static_cast<std::uint16_t>(std::stoi(line.substr(at + 6)));
    }
  }
}

Daemon::~Daemon() {
  if (running()) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  collector_.join();
  ::close(output_);
}

void Daemon::collect() {
  std::string rest;
  std::array<char, 4096> bytes{};
  for (ssize_t n = 0; (n = ::read(output_, bytes.data(), bytes.size())) > 0;) {
    rest.append(bytes.data(), static_cast<std::size_t>(n));
    const std::lock_guard lock(mutex_);
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos;) {
      lines_.push_back(rest.substr(0, end));
      rest.erase(0, end + 1);
    }
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Daemon::signal(int number) { ::kill(pid_, number); }

bool Daemon::running() {
  if (exit_code_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
  exit_code_ = code_of(status);
  return false;
}

int Daemon::wait(std::chrono::milliseconds patience) {
  // Its output ends when it does.
  {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [this] { return ended_; })) return -1;
  }
  if (exit_code_) return *exit_code_;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  exit_code_ = code_of(status);
  return *exit_code_;
}

bool Daemon::says(const std::string& part) {
  std::unique_lock lock(mutex_);
  const auto said = [&] {
    for (const std::string& line : lines_) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  };
  changed_.wait_for(lock, std::chrono::seconds(20), [&] { return ended_ || said(); });
  return said();
}

std::vector<std::string> Daemon::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::int64_t Daemon::peak_memory_bytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return -1;
}

std::size_t Daemon::mapped_regions() const {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

std::string write_settings(const TemporaryDirectory& folder, const std::string& text) {
  const std::string path = folder / "settings.json";
  std::ofstream(path) << text;
  return path;
}

}  // namespace lastword::test
