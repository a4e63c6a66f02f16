// SPDX-License-Identifier: Apache-2.0
#include "protocol/bytes.h"

#include "protocol/check.h"

namespace lastword {
namespace {

constexpr std::size_t kLengthMax = std::numeric_limits<std::int32_t>::max();

// Where to cut a text that is too long: not inside a UTF-8 character.
std::size_t cut_point(std::string_view text) {
  if (text.size() <= kStringBytesMax) return text.size();
  std::size_t n = kStringBytesMax;
  while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  return n;
}

}  // namespace

void Writer::varint(std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(std::byte(value | 0x80));
  out_.push_back(std::byte(value));
}

void Writer::file(FileRange range) {
  if (range.length_bytes == 0) return;
  flush();
  done_.size_bytes += range.length_bytes;
  done_.parts.emplace_back(std::move(range));
}

void Writer::blob(std::string_view text, bool compact) {
  const std::string_view kept = text.substr(0, cut_point(text));
  string_length(kept.size(), compact);
  bytes(std::as_bytes(std::span(kept)));
}

void Writer::blob(ByteView run, bool compact) {
  length(run.size(), compact);
  bytes(run);
}

void Writer::length(std::size_t n, bool compact) {
  LW_CHECK(n == kNull || n <= kLengthMax);
  compact ? varint(static_cast<std::uint32_t>(n + 1)) : number(static_cast<std::int32_t>(n));
}

void Writer::string_length(std::size_t n, bool compact) {
  compact ? length(n, true) : number(static_cast<std::int16_t>(n));
}

void Writer::patch_front(std::int32_t value) {
  Bytes& front = done_.parts.empty() ? out_ : std::get<Bytes>(done_.parts.front());
  LW_CHECK(front.size() >= sizeof(value));
  Writer number;
  number.number(value);
  std::memcpy(front.data(), number.out_.data(), sizeof(value));
}

Bytes Writer::take() {
  LW_CHECK(done_.parts.empty());
  return std::move(out_);
}

Parts Writer::take_parts() {
  flush();
  return std::exchange(done_, {});
}

void Writer::flush() {
  if (out_.empty()) return;
  done_.size_bytes += out_.size();
  done_.parts.emplace_back(std::exchange(out_, {}));
}

void Reader::fail(const char* reason) {
  if (!failed()) reason_ = reason;
}

std::uint32_t Reader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    std::uint8_t b = 0;
    number(b);
    value |= std::uint64_t(b & 0x7f) << shift;
    if (b >= 0x80) continue;
    if (value <= std::numeric_limits<std::uint32_t>::max())
      return static_cast<std::uint32_t>(value);
    break;
  }
  fail("has a varint that does not end");
  return 0;
}

ByteView Reader::bytes(std::size_t n) {
  if (n > in_.size()) fail("goes beyond the end");
  if (failed()) return {};
  const ByteView taken = in_.first(n);
  in_ = in_.subspan(n);
  return taken;
}

std::optional<std::size_t> Reader::length(bool compact) {
  std::int64_t n = 0;
  if (compact) {
    n = std::int64_t{varint()} - 1;
  } else {
    std::int32_t classic = 0;
    number(classic);
    n = classic;
  }
  if (n < -1 || n > std::int64_t{kLengthMax}) fail("has an impossible length");
  if (n < 0) return std::nullopt;
  return static_cast<std::size_t>(n);
}

std::optional<std::size_t> Reader::string_length(bool compact) {
  std::optional<std::size_t> n;
  if (compact) {
    n = length(true);
  } else {
    std::int16_t classic = 0;
    number(classic);
    if (classic < -1) fail("has an impossible length");
    if (classic >= 0) n = static_cast<std::size_t>(classic);
  }
  if (n && *n > kStringBytesMax) fail("is a string of more than 32767 bytes");
  return n;
}

std::size_t Reader::required(std::optional<std::size_t> n) {
  if (!n) fail("is null");
  return n.value_or(0);
}

void Reader::charge(std::size_t memory_bytes) {
  if (memory_bytes > limits_.memory_bytes_max) return fail("would take too much memory");
  limits_.memory_bytes_max -= memory_bytes;
}

void Reader::charge_item(std::size_t memory_bytes) {
  if (limits_.elements_max == 0) return fail("has too many items");
  --limits_.elements_max;
  charge(memory_bytes);
}

void Reader::assign(std::string& value, std::size_t n) {
  const ByteView run = bytes(n);
  charge(run.size());
  if (failed()) return value.clear();
  value.assign(reinterpret_cast<const char*>(run.data()), run.size());
}

void Reader::assign(Bytes& value, std::size_t n) {
  const ByteView run = bytes(n);
  charge(run.size());
  if (failed()) return value.clear();
  value.assign(run.begin(), run.end());
}

}  // namespace lastword
