// SPDX-License-Identifier: Apache-2.0
// Numbers and records inside a batch, byte by byte: what record_batch and batch_check share.
//
// Purpose   one parser for the walk on produce, for reads and for the cleaner, tight enough that a
//           full check costs less than the checksum. Inside protocol/ only.
// Threads   pure functions.
// Lifetime  a ParsedRecord points into the bytes that were parsed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/bytes.h"

namespace lastword::record_codec {

/// Big-endian loads and stores at any address.
template <Number T>
T load(const std::byte* at) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits = bits << 8 | std::to_integer<std::uint64_t>(at[i]);
  }
  return static_cast<T>(bits);
}
template <Number T>
void store(std::byte* at, T value) {
  auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = sizeof(T); i-- > 0; bits >>= 8) at[i] = static_cast<std::byte>(bits);
}

/// Bytes between two addresses that are consumed from the front. Once a read does not fit, `at` is
/// null, and stays so: look at failed() after a run of reads.
struct Span {
  const std::byte* at;
  const std::byte* end;

  bool failed() const { return at == nullptr; }
  std::size_t left() const { return static_cast<std::size_t>(end - at); }
  bool empty() const { return at == end; }
};

/// A zigzag varint of at most `bits` (32 or 64) bits.
template <int bits>
std::int64_t read_long_varint(Span& in) {
  std::uint64_t value = 0;
  for (int shift = 0; !in.failed() && !in.empty() && shift < bits; shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(*in.at++);
    value |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    const int spare = bits - shift;  // what the last byte may use
    if (spare < 7 && (byte >> spare) != 0) break;
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  in.at = nullptr;
  return 0;
}
template <int bits>
inline std::int64_t read_varint(Span& in) {
  if (!in.failed() && !in.empty() && *in.at < std::byte{0x80}) {
    const auto value = std::to_integer<std::int64_t>(*in.at++);
    return (value >> 1) ^ -(value & 1);
  }
  return read_long_varint<bits>(in);
}

/// A length of -1 (null, `at` stays where it is) or more, then that many bytes.
struct Blob {
  const std::byte* data;
  std::int64_t size;
  bool is_null() const { return size < 0; }
  ByteView view() const { return {data, static_cast<std::size_t>(size)}; }
};
inline Blob read_blob(Span& in) {
  const std::int64_t size = read_varint<32>(in);
  const Blob blob{in.at, size};
  if (in.failed() || size < -1 || size > static_cast<std::int64_t>(in.left())) {
    in.at = nullptr;
  } else if (size > 0) {
    in.at += size;
  }
  return blob;
}

/// The pair of a record header. A null key fails.
struct Pair {
  Blob key;
  Blob value;
};
inline Pair read_pair(Span& in) {
  const Blob key = read_blob(in);
  if (in.failed() || key.is_null()) return in.at = nullptr, Pair{key, key};
  return {key, read_blob(in)};
}

struct ParsedRecord {
  std::int64_t timestamp_delta;
  std::int64_t offset_delta;
  Blob key;
  Blob value;
  ByteView headers;  // count and pairs
};

/// Parses one record at the front of `in` and moves behind it. Null, or what is wrong with it.
inline const char* parse_record(Span& in, ParsedRecord& record) {
  const std::int64_t length = read_varint<32>(in);
  if (in.failed() || length < 0 || length > static_cast<std::int64_t>(in.left())) {
    return "has a length that runs past the end of the batch";
  }
  Span body{in.at, in.at + length};
  in.at = body.end;
  if (body.empty()) return "is too short";
  ++body.at;  // attributes of a record: unused
  record.timestamp_delta = read_varint<64>(body);
  record.offset_delta = read_varint<32>(body);
  if (body.failed()) return "has a broken timestamp or offset";
  record.key = read_blob(body);
  if (body.failed()) return "has a key whose length does not fit";
  record.value = read_blob(body);
  if (body.failed()) return "has a value whose length does not fit";

  const std::byte* const headers = body.at;
  const std::int64_t count = read_varint<32>(body);
  if (body.failed() || count < 0) return "has a broken count of headers";
  for (std::int64_t i = 0; i < count && !body.failed(); ++i) read_pair(body);
  if (body.failed()) return "has a header with a null key or a length that does not fit";
  if (!body.empty()) return "is longer than its fields";
  record.headers = {headers, body.end};
  return nullptr;
}

/// Base and delta as Kafka adds them: around the end, never undefined.
inline std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapping_subtract(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

inline std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::size_t varint_bytes(std::int64_t value) {
  std::size_t count = 1;
  for (std::uint64_t bits = zigzag(value); bits >= 0x80; bits >>= 7) ++count;
  return count;
}
/// Writes a zigzag varint of at most 10 bytes; the address behind it.
inline std::byte* write_varint(std::byte* at, std::int64_t value) {
  std::uint64_t bits = zigzag(value);
  for (; bits >= 0x80; bits >>= 7) *at++ = static_cast<std::byte>(bits | 0x80);
  *at++ = static_cast<std::byte>(bits);
  return at;
}

}  // namespace lastword::record_codec
