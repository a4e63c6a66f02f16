// SPDX-License-Identifier: Apache-2.0
// A lastwordd process for benchmarks: started on a free port in a folder of its own, measured from
// outside, stopped and cleaned up at the end.
//
// Threads   one.
// Lifetime  the process ends with the object.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace lastword::bench {

using SteadyClock = std::chrono::steady_clock;

inline double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// Stops the program when something that must work does not.
inline void must(bool works, const std::string& what) {
  if (works) return;
  std::fprintf(stderr, "%s failed\n", what.c_str());
  std::exit(1);
}

inline int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  must(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0, "bind");
  must(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0, "port");
  ::close(descriptor);
  return ntohs(address.sin_port);
}

class Daemon {
 public:
  /// `settings` is the inside of a settings file, without listen and data_dir.
  Daemon(std::string program, const std::string& settings)
      : program_(std::move(program)), port_(free_port()) {
    folder_ = std::filesystem::temp_directory_path() /
              ("lastword-bench-" + std::to_string(::getpid()) + "-" + std::to_string(port_));
    std::filesystem::create_directories(folder_);
    std::ofstream file(folder_ / "settings.json");
    file << "{\"listen\": \"" << address() << "\", \"data_dir\": \"" << (folder_ / "data").string()
         << "\"" << (settings.empty() ? "" : ", ") << settings << "}";
  }
  ~Daemon() {
    stop();
    std::filesystem::remove_all(folder_);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  const std::filesystem::path& folder() const { return folder_; }

  /// Returns the seconds until a client could connect.
  double start() {
    const auto begun = SteadyClock::now();
    process_ = ::fork();
    if (process_ == 0) {
      const std::string log = (folder_ / "log").string();
      static_cast<void>(std::freopen(log.c_str(), "a", stderr));
      const std::string settings = (folder_ / "settings.json").string();
      ::execl(program_.c_str(), program_.c_str(), "--config", settings.c_str(), nullptr);
      std::_Exit(127);
    }
    while (!reachable()) {
      must(seconds_since(begun) < 60, "start of " + program_);
      ::usleep(500);
    }
    return seconds_since(begun);
  }

  void stop() {
    if (process_ <= 0) return;
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  double resident_mb() const {
    std::ifstream status("/proc/" + std::to_string(process_) + "/status");
    for (std::string word; status >> word;) {
      double kilobytes = 0;
      if (word == "VmRSS:" && status >> kilobytes) return kilobytes / 1024;
    }
    return 0;
  }

  /// User and system time so far.
  double cpu_seconds() const {
    std::ifstream stat("/proc/" + std::to_string(process_) + "/stat");
    std::string word;
    double ticks = 0;
    for (int i = 1; i <= 15 && stat >> word; ++i) {
      if (i >= 14) ticks += std::stod(word);
    }
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

 private:
  bool reachable() const {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool good =
        ::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(descriptor);
    return good;
  }

  const std::string program_;
  const int port_;
  std::filesystem::path folder_{};
  pid_t process_ = 0;
};

}  // namespace lastword::bench
