// SPDX-License-Identifier: Apache-2.0
// The walk over a field list that encodes, and the one that decodes. Only messages/*.cpp (and tests
// with messages of their own) include this, and follow it by `template struct MessageCodec<M>;`.
//
// Threads   pure functions.
// Lifetime  as fields.h.
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "protocol/check.h"
#include "protocol/fields.h"

namespace lastword::codec {

struct Context {
  std::int16_t version = 0;
  bool flexible = false;
};

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = !std::same_as<T, std::byte>;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
/// Numbers and ids have no null on the wire: as optionals they can only be tags, where empty means
/// that there is no tag.
template <class T>
inline constexpr bool has_null = !Number<T> && !std::same_as<T, Uuid>;
template <class... Options>
inline constexpr bool is_tag = (std::same_as<Options, Tag> || ...);

inline constexpr std::int8_t kNullStruct = -1;
inline constexpr std::int8_t kPresentStruct = 1;

// ---- encoding ------------------------------------------------------------------------------

inline void write_records(Writer& out, const RecordsField& records, bool compact) {
  const auto* files = std::get_if<std::vector<FileRange>>(&records.value);
  if (files == nullptr) return out.blob(records.view(), compact);
  out.length(records.size_bytes(), compact);
  for (const FileRange& range : *files) out.file(range);
}

template <Struct S>
void write_struct(Writer& out, const S& message, Context context);

template <class T>
void write_value(Writer& out, const T& value, Context context) {
  if constexpr (Struct<T>) {
    write_struct(out, value, context);
  } else if constexpr (is_list<T>) {
    out.list(value, context.flexible, [&](const auto& item) { write_value(out, item, context); });
  } else if constexpr (Number<T>) {
    out.number(value);
  } else if constexpr (std::same_as<T, Uuid>) {
    out.bytes(value.bytes);
  } else if constexpr (std::same_as<T, RecordsField>) {
    write_records(out, value, context.flexible);
  } else {
    out.blob(value, context.flexible);
  }
}

template <class T>
void write_value(Writer& out, const std::optional<T>& value, Context context) {
  static_assert(has_null<T>, "an optional number or id can only be a tag");
  if constexpr (Struct<T>) {
    out.number(value ? kPresentStruct : kNullStruct);
  } else if constexpr (std::same_as<T, std::string>) {
    if (!value) out.string_length(Writer::kNull, context.flexible);
  } else {
    if (!value) out.length(Writer::kNull, context.flexible);
  }
  if (value) write_value(out, *value, context);
}

template <class T>
bool is_default(const T& value, const T& usual) {
  if constexpr (is_optional<T>)
    return !value.has_value();
  else if constexpr (is_list<T>)
    return value.empty();
  else
    return value == usual;
}

template <Struct S>
class WriteWalk {
 public:
  WriteWalk(Writer& out, const S& message, Context context)
      : out_(out), message_(message), context_(context) {}

  template <class T, class... Options>
  void operator()(const char*, T S::*member, Options... options) {
    const FieldRule rule = field_rule(options...);
    if (!rule.versions.has(context_.version)) return;
    if constexpr (is_tag<Options...>) {
      write_tag(rule.tag, member);
    } else {
      const T& value = message_.*member;
      if constexpr (is_optional<T>) LW_CHECK(value || rule.nullable.has(context_.version));
      write_value(out_, value, context_);
    }
  }

  void finish() {
    if (!context_.flexible) return;
    out_.varint(tag_count_);
    out_.bytes(tags_.take());
  }

 private:
  template <class T>
  void write_tag(std::int32_t number, T S::*member) {
    static const S usual{};
    const T& value = message_.*member;
    if (!context_.flexible || is_default(value, usual.*member)) return;
    LW_CHECK(number > last_tag_);
    last_tag_ = number;
    ++tag_count_;
    Writer alone;
    if constexpr (is_optional<T>)
      write_value(alone, *value, context_);
    else
      write_value(alone, value, context_);
    const Bytes bytes = alone.take();
    tags_.varint(static_cast<std::uint32_t>(number));
    tags_.varint(static_cast<std::uint32_t>(bytes.size()));
    tags_.bytes(bytes);
  }

  Writer& out_;
  const S& message_;
  Context context_;
  Writer tags_{};
  std::uint32_t tag_count_ = 0;
  std::int32_t last_tag_ = -1;
};

template <Struct S>
void write_struct(Writer& out, const S& message, Context context) {
  WriteWalk<S> walk(out, message, context);
  S::fields(walk);
  walk.finish();
}

// ---- decoding ------------------------------------------------------------------------------

/// A Reader and, once it has failed, the path of the field where it did.
struct Source {
  Reader& in;
  std::string path{};

  void add_to_path(const char* name) {
    if (!path.empty()) path.insert(0, 1, '.');
    path.insert(0, name);
  }
};

template <Struct S>
void read_struct(Source& source, S& message, Context context);

template <class T>
void read_value(Source& source, T& value, Context context) {
  if constexpr (Struct<T>) {
    read_struct(source, value, context);
  } else if constexpr (is_list<T>) {
    source.in.list(value, context.flexible, [&](auto& item) { read_value(source, item, context); });
  } else if constexpr (Number<T>) {
    source.in.number(value);
  } else if constexpr (std::same_as<T, Uuid>) {
    const ByteView raw = source.in.bytes(value.bytes.size());
    if (!raw.empty()) std::memcpy(value.bytes.data(), raw.data(), raw.size());
  } else if constexpr (std::same_as<T, RecordsField>) {
    std::optional<ByteView> view;
    source.in.blob(view, context.flexible);
    value.value = view.value_or(ByteView{});
  } else {
    source.in.blob(value, context.flexible);
  }
}

template <class T>
void read_value(Source& source, std::optional<T>& value, Context context) {
  static_assert(has_null<T>, "an optional number or id can only be a tag");
  if constexpr (Struct<T>) {
    std::int8_t presence = kNullStruct;
    source.in.number(presence);
    value.reset();
    if (presence != kNullStruct) read_struct(source, value.emplace(), context);
  } else if constexpr (is_list<T>) {
    source.in.list(value, context.flexible, [&](auto& item) { read_value(source, item, context); });
  } else if constexpr (std::same_as<T, RecordsField>) {
    std::optional<ByteView> view;
    source.in.blob(view, context.flexible);
    value.reset();
    if (view) value.emplace().value = *view;
  } else {
    source.in.blob(value, context.flexible);
  }
}

inline constexpr std::int64_t kInLine = -1;

/// Reads the fields that are in line or, given its number, one tag.
template <Struct S>
class ReadWalk {
 public:
  ReadWalk(Source& source, S& message, Context context, std::int64_t tag)
      : source_(source), message_(message), context_(context), tag_(tag) {}

  template <class T, class... Options>
  void operator()(const char* name, T S::*member, Options... options) {
    const FieldRule rule = field_rule(options...);
    if (rule.tag != tag_ || !rule.versions.has(context_.version) || source_.in.failed()) return;
    found_ = true;
    T& value = message_.*member;
    if constexpr (is_tag<Options...>) {
      read_tag(value);
    } else {
      read_value(source_, value, context_);
      if constexpr (is_optional<T>) {
        if (!value && !rule.nullable.has(context_.version)) source_.in.fail("is null");
      }
    }
    if (source_.in.failed()) source_.add_to_path(name);
  }

  bool found() const { return found_; }

 private:
  template <class T>
  void read_tag(T& value) {
    read_value(source_, value, context_);
  }
  template <class T>
  void read_tag(std::optional<T>& value) {
    if constexpr (std::same_as<T, std::string>)
      read_value(source_, value, context_);
    else
      read_value(source_, value.emplace(), context_);
  }

  Source& source_;
  S& message_;
  Context context_;
  std::int64_t tag_;
  bool found_ = false;
};

template <Struct S>
void read_struct(Source& source, S& message, Context context) {
  ReadWalk<S> in_line(source, message, context, kInLine);
  S::fields(in_line);
  if (!context.flexible || source.in.failed()) return;
  source.in.tags([&](std::uint32_t tag) {
    ReadWalk<S> one(source, message, context, tag);
    S::fields(one);
    return one.found();
  });
  if (source.in.failed() && source.path.empty()) source.add_to_path("(tags)");
}

}  // namespace lastword::codec

namespace lastword {

template <Message M>
void MessageCodec<M>::write(Writer& out, const M& message, std::int16_t version) {
  codec::write_struct(out, message, {version, M::api.flexible(version)});
}

template <Message M>
Result<> MessageCodec<M>::read(Reader& in, M& message, std::int16_t version) {
  codec::Source source{in};
  codec::read_struct(source, message, {version, M::api.flexible(version)});
  if (!in.failed()) return {};
  return decode_error(M::api, version, source.path, in);
}

}  // namespace lastword
