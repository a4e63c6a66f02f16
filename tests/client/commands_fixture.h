// SPDX-License-Identifier: Apache-2.0
// Runs the program `lastword` in a shell, beside a broker.
//
// Threads   one at a time.
// Lifetime  each run has ended when run() returns.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "tests/support/broker_fixture.h"

namespace lastword::client {

/// What a command left behind.
struct Ran {
  int exit_code = -1;
  std::string out{};
  std::string err{};
};

class CommandsTest : public testing::Test {
 protected:
  explicit CommandsTest(std::function<void(BrokerOptions&)> change = {})
      : fixture_(std::move(change)) {}

  /// `lastword WORDS`, with --broker, in a shell. WORDS may go on with a pipe.
  Ran run(const std::string& words, const std::string& input = {}) {
    return run_shell(function() + "{ lastword " + words + "; }", input);
  }
  /// `lastword WORDS` as they stand.
  Ran run_plain(const std::string& words) {
    return run_shell("{ " LASTWORD_BINARY_DIR "/lastword " + words + "; }", {});
  }
  /// A line for a shell, such as help shows, in which `lastword` stands for the program with
  /// --broker.
  Ran run_example(const std::string& line) {
    return run_shell(function() + "{ " + line + "; }", {});
  }
  std::string text(const std::string& name) const {
    std::ifstream stream(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void create_compacted() {
    EXPECT_EQ(run("topics create a --config cleanup.policy=compact --config segment.ms=1000 "
                  "--config delete.retention.ms=60000")
                  .exit_code,
              0);
  }

  test::BrokerFixture fixture_;
  test::TemporaryDirectory folder_{};

 private:
  std::string function() const {
    return "lastword() { local c=$1; shift; " LASTWORD_BINARY_DIR "/lastword $c --broker " +
           fixture_.address() + " \"$@\"; }; ";
  }
  Ran run_shell(const std::string& commands, const std::string& input) {
    std::ofstream(folder_ / "in") << input;
    std::ofstream(folder_ / "script")
        << "set -o pipefail; cd " << folder_.path() << "; " << commands << " <in >out 2>err";
    const int status = std::system(("timeout 60 bash " + (folder_ / "script")).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text("out"), text("err")};
  }
};

}  // namespace lastword::client
