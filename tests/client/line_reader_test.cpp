// SPDX-License-Identifier: Apache-2.0
#include "client/line_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace lastword::client {
namespace {

using Got = LineReader::Got;

class LineReaderTest : public testing::Test {
 protected:
  ~LineReaderTest() override {
    ::close(ends_[0]);
    close_input();
  }
  void give(const std::string& text) {
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_input() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  Got next() {
    const auto got = lines_.next(line_, std::chrono::milliseconds(0));
    EXPECT_TRUE(got);
    return got ? *got : Got::kEnd;
  }

  static std::array<int, 2> open_pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    return ends;
  }

  std::array<int, 2> ends_ = open_pipe();
  LineReader lines_{ends_[0]};
  std::string line_{};
};

TEST_F(LineReaderTest, ReadsLinesAndALastOneWithoutEnd) {
  give("a\n\nb\r\nc");
  close_input();
  EXPECT_EQ(next(), Got::kLine);
  EXPECT_EQ(line_, "a");
  EXPECT_EQ(next(), Got::kLine);
  EXPECT_EQ(line_, "");
  EXPECT_EQ(next(), Got::kLine);
  EXPECT_EQ(line_, "b\r");
  EXPECT_EQ(next(), Got::kLine);
  EXPECT_EQ(line_, "c");
  EXPECT_EQ(next(), Got::kEnd);
}

TEST_F(LineReaderTest, DoesNotWaitForAQuietPipe) {
  EXPECT_EQ(next(), Got::kNothingYet);
  give("half");
  EXPECT_EQ(next(), Got::kNothingYet);
  give(" a line\n");
  EXPECT_EQ(next(), Got::kLine);
  EXPECT_EQ(line_, "half a line");
  EXPECT_EQ(lines_.bytes_read(), 12U);
}

}  // namespace
}  // namespace lastword::client
