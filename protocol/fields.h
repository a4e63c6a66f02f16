// SPDX-License-Identifier: Apache-2.0
// A message is a struct with a list of its fields. The list is the codec: encoding and decoding
// walk it (codec.h), and each line says in which versions the field is on the wire, where it may be
// null, and whether it is a tag. README.md in this folder shows how to declare one.
//
// Threads   pure functions.
// Lifetime  a decoded message may point into the bytes it came from (ByteView, RecordsField).
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/bytes.h"
#include "protocol/result.h"
#include "protocol/uuid.h"

namespace lastword {

struct Versions {
  std::int16_t first = 0;
  std::int16_t last = std::numeric_limits<std::int16_t>::max();
  constexpr bool has(std::int16_t version) const { return first <= version && version <= last; }
  bool operator==(const Versions&) const = default;
};
constexpr Versions since(std::int16_t version) { return {.first = version}; }
constexpr Versions until(std::int16_t version) { return {.last = version}; }
constexpr Versions between(std::int16_t first, std::int16_t last) { return {first, last}; }

/// Where an optional member may be null; everywhere if a field does not say.
struct Nullable {
  Versions versions{};
};
constexpr Nullable nullable(Versions versions) { return {versions}; }
constexpr Nullable nullable_since(std::int16_t version) { return {since(version)}; }

/// The field lives in the tag section. A tag whose value is the member's default is not written;
/// list tags in ascending order. Numbers of our own begin at kOwnTagsFrom.
struct Tag {
  std::int32_t number = -1;
};
constexpr Tag tag(std::int32_t number) { return {number}; }
inline constexpr std::int32_t kOwnTagsFrom = 10000;

/// What a line of a field list says beyond name and member.
struct FieldRule {
  Versions versions{};
  Versions nullable{};
  std::int32_t tag = -1;  // -1: in line

  constexpr void add(Versions v) { versions = v; }
  constexpr void add(Nullable n) { nullable = n.versions; }
  constexpr void add(Tag t) { tag = t.number; }
};
template <class... Options>
constexpr FieldRule field_rule(Options... options) {
  FieldRule rule;
  (rule.add(options), ...);
  return rule;
}

/// One API: its key, the versions that we say we serve, those that we do, and the first flexible.
struct Api {
  std::int16_t key;
  std::string_view name;
  Versions advertised;
  Versions supported;
  std::int16_t flexible_from;

  constexpr bool flexible(std::int16_t version) const { return version >= flexible_from; }
};

/// A struct with a field list: `static void fields(auto& walk) { walk("name", &T::name); … }`.
template <class T>
concept Struct = requires {
  &T::template fields<int>;
};

/// A request or response body.
template <class T>
concept Message = Struct<T> && requires {
  { T::api } -> std::convertible_to<const Api&>;
};

/// The `records` of Produce and Fetch: whole batches, wherever they are. Decoded it is a view into
/// the frame; a null decodes as empty unless the member is an optional.
struct RecordsField {
  std::variant<ByteView, Bytes, std::vector<FileRange>> value{};

  std::size_t size_bytes() const;
  /// The bytes, which are not in a file.
  ByteView view() const;
};

/// The bytes of `view`, which lies inside `frame`, for changing in place.
std::span<std::byte> mutable_in(std::span<std::byte> frame, ByteView view);

/// What is accepted from the other side.
struct DecodeRules {
  bool surplus_ignored = false;  // bytes after the last field
  std::size_t elements_max = 1'000'000;
  std::size_t memory_ratio = 16;  // decoded bytes for each one on the wire; kMemoryFloor on top
  std::size_t memory_bytes_max = 32u << 20;

  DecodeLimits limits(std::size_t wire_bytes) const;
};
inline constexpr std::size_t kMemoryFloor = 4096;
/// From clients, who may be hostile; Kafka ignores surplus bytes after a request as well.
inline constexpr DecodeRules kRequestRules{.surplus_ignored = true};
inline constexpr DecodeRules kResponseRules{.memory_ratio = 64, .memory_bytes_max = 512u << 20};

/// kMalformed, with a text that names API and field: `path` is where `in` failed.
Error decode_error(const Api& api, std::int16_t version, const std::string& path, const Reader& in);
Error surplus_error(const Api& api);

/// The two directions. Defined in codec.h and compiled once for each message, in messages/*.cpp.
template <Message M>
struct MessageCodec {
  static void write(Writer& out, const M& message, std::int16_t version);
  /// Fails `in`, naming the field in the error, if the bytes are not such a message.
  static Result<> read(Reader& in, M& message, std::int16_t version);
};

template <Message M>
Parts encode_parts(const M& message, std::int16_t version) {
  Writer out;
  MessageCodec<M>::write(out, message, version);
  return out.take_parts();
}

/// For messages without file ranges.
template <Message M>
Bytes encode(const M& message, std::int16_t version) {
  Writer out;
  MessageCodec<M>::write(out, message, version);
  return out.take();
}

/// kMalformed, naming the field, if `body` is not a message of that version.
template <Message M>
Result<M> decode(ByteView body, std::int16_t version, const DecodeRules& rules = kResponseRules) {
  Reader in(body, rules.limits(body.size()));
  M message;
  LW_TRY(MessageCodec<M>::read(in, message, version));
  if (!in.done() && !rules.surplus_ignored) {
    return surplus_error(M::api);
  }
  return message;
}

}  // namespace lastword
