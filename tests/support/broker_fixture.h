// SPDX-License-Identifier: Apache-2.0
// A whole broker for one test: on a free port of the loopback, over a folder of its own, with time
// that stands still until it is moved, and without cleaner threads: run_due() does what is due.
//
// Threads   one at a time; the broker has its own.
// Lifetime  clients that are connected to it end first.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/link.h"
#include "client/record.h"
#include "server/broker.h"
#include "storage/posix_file_system.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temporary_directory.h"

namespace lastword::test {

class BrokerFixture {
 public:
  using Configs = std::vector<std::pair<std::string, std::string>>;

  /// `change` sees the options before the broker starts. The clock stands at the system's time, so
  /// that records of clients that know no other are not ahead of it.
  explicit BrokerFixture(std::function<void(BrokerOptions&)> change = {});
  ~BrokerFixture();

  void start();
  void stop();
  void restart() {
    stop();
    start();
  }

  /// Does everything that is due; then after time has gone on.
  void run_due() { broker_->cleaner().run_due(); }
  void advance(std::int64_t by_ms) {
    clock.advance(by_ms);
    run_due();
  }

  client::ConnectionSetup connection() const;
  /// "127.0.0.1:PORT"
  std::string address() const;
  server::Broker& broker() { return *broker_; }

  void create_topic(const std::string& name, int partitions = 1, const Configs& configs = {});
  /// One batch with these records into one partition, stamped with the clock; the first offset.
  Offset produce(const std::string& topic, const std::vector<client::Record>& records,
                 std::int32_t partition = 0);
  Offset produce(const std::string& topic, const std::string& key, const client::Field& value) {
    return produce(topic, {{.key = key, .value = value}});
  }
  std::int64_t removed_tombstone_mark(const std::string& topic);

  ManualClock clock;
  BrokerOptions options{};
  TemporaryDirectory folder{};
  storage::PosixFileSystem files{};
  std::vector<std::string> reports() const;

 private:
  struct Reports;
  std::shared_ptr<Reports> reports_;
  std::unique_ptr<server::Broker> broker_{};
  std::uint16_t port_ = 0;
};

}  // namespace lastword::test
