// SPDX-License-Identifier: Apache-2.0
// Cursors over wire bytes. Writer and Reader offer matching members, so that one field list
// (fields.h) serves both. All numbers are big endian.
//
// Threads   plain data; one thread at a time.
// Lifetime  a Reader, and every ByteView that it yields, points into its input. Parts own their
//           bytes and keep the sources of their file ranges alive.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/byte_source.h"

namespace lastword {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

template <class T>
concept Number = std::integral<T> || std::is_enum_v<T>;

/// Kafka's limit for a string, classic or compact.
inline constexpr std::size_t kStringBytesMax = 32767;

/// What was encoded: runs of bytes, and of files that are sent without being read.
using Part = std::variant<Bytes, FileRange>;
struct Parts {
  std::vector<Part> parts{};
  std::size_t size_bytes = 0;  // over all parts
};

/// Appends to a growing buffer. Cannot fail.
class Writer {
 public:
  template <Number T>
  void number(T value) {
    const auto bits = static_cast<std::uint64_t>(value);
    std::byte big_endian[sizeof(T)];
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      big_endian[i] = std::byte(bits >> (8 * (sizeof(T) - 1 - i)));
    }
    bytes(big_endian);
  }
  /// Unsigned, seven bits a byte, low ones first.
  void varint(std::uint32_t value);
  void bytes(ByteView run) { out_.insert(out_.end(), run.begin(), run.end()); }
  /// Bytes of a file, by reference.
  void file(FileRange range);

  /// A string or byte run with its length in front; an empty optional is null. A string beyond
  /// kStringBytesMax is cut there, at a whole UTF-8 character.
  void blob(std::string_view text, bool compact);
  void blob(const std::string& text, bool compact) { blob(std::string_view(text), compact); }
  void blob(ByteView run, bool compact);
  void blob(const Bytes& run, bool compact) { blob(ByteView(run), compact); }
  template <class T>
  void blob(const std::optional<T>& value, bool compact) {
    if (value) return blob(*value, compact);
    std::same_as<T, std::string> ? string_length(kNull, compact) : length(kNull, compact);
  }

  /// A counted list; an empty optional is null.
  template <class T, class Each>
  void list(const std::vector<T>& items, bool compact, Each each) {
    length(items.size(), compact);
    for (const T& item : items) each(item);
  }

  /// Classic strings carry a 16-bit length, everything else 32 bits. Compact lengths are a varint
  /// of length + 1, which leaves 0 for null.
  static constexpr std::size_t kNull = std::numeric_limits<std::size_t>::max();
  void length(std::size_t n, bool compact);
  void string_length(std::size_t n, bool compact);

  /// Bytes written so far, file ranges included.
  std::size_t size_bytes() const { return done_.size_bytes + out_.size(); }
  /// Overwrites the number that was written at the very front (a frame's size).
  void patch_front(std::int32_t value);

  /// What was written, which holds no file range.
  Bytes take();
  Parts take_parts();

 private:
  void flush();

  Bytes out_;
  Parts done_;
};

/// What one message may cost its reader in memory, whatever its counts claim.
struct DecodeLimits {
  std::size_t elements_max = std::numeric_limits<std::size_t>::max();      // list items
  std::size_t memory_bytes_max = std::numeric_limits<std::size_t>::max();  // items and strings
};

/// Consumes a view. The first short or impossible read makes it fail for good: every later read
/// yields zeros and empty values, so callers check once, at the end.
class Reader {
 public:
  explicit Reader(ByteView in, const DecodeLimits& limits = {})
      : in_(in), start_(in.data()), limits_(limits) {}

  /// True if every byte was consumed and nothing failed.
  bool done() const { return !failed() && in_.empty(); }
  bool failed() const { return reason_ != nullptr; }
  /// Why it failed, in words that follow a field's name; empty if it did not.
  std::string_view reason() const { return failed() ? reason_ : std::string_view{}; }
  void fail(const char* reason);

  std::size_t position() const { return static_cast<std::size_t>(in_.data() - start_); }
  ByteView rest() const { return in_; }

  template <Number T>
  void number(T& value) {
    std::uint64_t bits = 0;
    for (std::byte b : bytes(sizeof(T))) bits = bits << 8 | std::to_integer<std::uint64_t>(b);
    value = static_cast<T>(bits);
  }
  /// At most five bytes and 32 bits.
  std::uint32_t varint();
  ByteView bytes(std::size_t n);

  /// A null is refused unless the value is an optional. A ByteView is not copied.
  template <class T>
  void blob(T& value, bool compact) {
    assign(value, required(length_of<T>(compact)));
  }
  template <class T>
  void blob(std::optional<T>& value, bool compact) {
    value.reset();
    if (const auto n = length_of<T>(compact); n && !failed()) assign(value.emplace(), *n);
  }

  template <class T, class Each>
  void list(std::vector<T>& items, bool compact, Each each) {
    fill(items, required(length(compact)), each);
  }
  template <class T, class Each>
  void list(std::optional<std::vector<T>>& items, bool compact, Each each) {
    items.reset();
    if (const auto n = length(compact); n && !failed()) fill(items.emplace(), *n, each);
  }

  /// The tag section that ends every struct of a flexible version. `known` gets each tag's number
  /// and, if it knows it, reads the value and returns true; what it does not know is skipped. A
  /// known value must fill its size exactly, and numbers must ascend.
  template <class Known>
  void tags(Known known) {
    std::int64_t last = -1;
    for (std::uint32_t n = varint(); n > 0 && !failed(); --n) {
      const std::uint32_t tag = varint();
      if (tag <= last) fail("has tags out of order");
      last = tag;
      const ByteView value = bytes(varint());
      if (failed()) return;
      const ByteView after = std::exchange(in_, value);
      if (known(tag) && !in_.empty()) fail("has the wrong size");
      if (!failed()) in_ = after;
    }
  }
  void tags() {
    tags([](std::uint32_t) { return false; });
  }

  /// Empty for null. Fails on other negative lengths.
  std::optional<std::size_t> length(bool compact);
  std::optional<std::size_t> string_length(bool compact);

 private:
  template <class T>
  std::optional<std::size_t> length_of(bool compact) {
    if constexpr (std::same_as<T, std::string>) return string_length(compact);
    return length(compact);
  }
  std::size_t required(std::optional<std::size_t> n);
  void charge(std::size_t memory_bytes);
  void charge_item(std::size_t memory_bytes);

  void assign(ByteView& value, std::size_t n) { value = bytes(n); }
  void assign(std::string& value, std::size_t n);
  void assign(Bytes& value, std::size_t n);

  // An item takes at least one byte, so a count beyond the bytes left is a lie. Growing item by
  // item keeps memory in step with the bytes that were really sent.
  template <class T, class Each>
  void fill(std::vector<T>& items, std::size_t n, Each each) {
    if (n > in_.size()) fail("claims more items than there are bytes");
    for (items.clear(); n > 0 && !failed(); --n) {
      charge_item(sizeof(T));
      if (!failed()) each(items.emplace_back());
    }
  }

  ByteView in_;
  const std::byte* start_;
  DecodeLimits limits_;
  const char* reason_ = nullptr;
};

}  // namespace lastword
