// SPDX-License-Identifier: Apache-2.0
#include "client/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lastword::client {

namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

Error read_error() {
  return {ErrorKind::kStorage, std::string("cannot read the input: ") + std::strerror(errno)};
}

}  // namespace

LineReader::Got LineReader::take(std::string& line, std::size_t end, std::size_t skip) {
  line.assign(buffer_, start_, end - start_);
  start_ = end + skip;
  scanned_ = start_;
  return Got::kLine;
}

Result<LineReader::Got> LineReader::next(std::string& line, std::chrono::milliseconds wait_max) {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end != std::string::npos) return take(line, end, 1);
    scanned_ = buffer_.size();
    if (ended_) {
      if (start_ == buffer_.size()) return Got::kEnd;
      return take(line, buffer_.size(), 0);
    }
    if (buffer_.size() - start_ > kLineBytesMax) {
      return Error{ErrorKind::kInvalidRecord, "a line is longer than 256 MiB"};
    }
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(wait_max.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) return Got::kNothingYet;
    if (ready < 0) return read_error();
    buffer_.erase(0, start_);
    scanned_ -= start_;
    start_ = 0;
    const std::size_t held = buffer_.size();
    buffer_.resize(held + kReadBytes);
    const auto got = ::read(descriptor_, buffer_.data() + held, kReadBytes);
    buffer_.resize(held + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno != EINTR) return read_error();
    ended_ = got == 0;
    bytes_read_ += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
}

}  // namespace lastword::client
