// SPDX-License-Identifier: Apache-2.0
#include "client/json_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "config/setting_value.h"

namespace lastword::client {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kInt64End = 9223372036854775808.0;
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= count ? kBase64[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held & 255);
  }
  return out;
}

// By the table of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) {
  const auto at = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = at(i);
    std::size_t length = 1;
    if (first >= 0xF0) {
      length = 4;
    } else if (first >= 0xE0) {
      length = 3;
    } else if (first >= 0xC2) {
      length = 2;
    } else if (first >= 0x80) {
      return false;
    }
    if (first > 0xF4) return false;
    const unsigned second = at(i + 1);
    if (first == 0xE0 && second < 0xA0) return false;
    if (first == 0xED && second > 0x9F) return false;
    if (first == 0xF0 && second < 0x90) return false;
    if (first == 0xF4 && second > 0x8F) return false;
    for (std::size_t j = 1; j < length; ++j) {
      if ((at(i + j) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

void put(Json& json, const std::string& name, const Field& field) {
  if (!field) {
    json[name] = nullptr;
  } else if (is_utf8(*field)) {
    json[name] = *field;
  } else {
    json[name + "_base64"] = to_base64(*field);
  }
}

Json to_json(const std::vector<Header>& headers) {
  std::set<std::string> names;
  Json object = Json::object();
  bool fits = true;
  for (const Header& header : headers) {
    fits = fits && is_utf8(header.key) && names.insert(header.key).second &&
           (!header.value || is_utf8(*header.value));
    if (fits) put(object, header.key, header.value);
  }
  if (fits) return object;
  Json list = Json::array();
  for (const Header& header : headers) {
    Json item = Json::object();
    put(item, "key", header.key);
    put(item, "value", header.value);
    list.push_back(std::move(item));
  }
  return list;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error bad(const std::string& text) { return {ErrorKind::kInvalidRecord, text}; }

// The field `name` or its base64 form. Null when it is null or left out.
Result<Field> take(const Json& json, const std::string& name) {
  const auto plain = json.find(name);
  const auto packed = json.find(name + "_base64");
  if (plain != json.end() && packed != json.end()) {
    return bad("both \"" + name + "\" and \"" + name + "_base64\" are there");
  }
  if (packed != json.end()) {
    auto bytes =
        packed->is_string() ? from_base64(packed->get_ref<const std::string&>()) : std::nullopt;
    if (!bytes) return bad("\"" + name + "_base64\" is not base64 text");
    return Field(std::move(*bytes));
  }
  if (plain == json.end() || plain->is_null()) return Field();
  if (!plain->is_string()) return bad("\"" + name + "\" is neither text nor null");
  return Field(plain->get<std::string>());
}

Result<std::vector<Header>> take_headers(const Json& json) {
  std::vector<Header> headers;
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string() && !value.is_null()) {
        return bad("header \"" + key + "\" is neither text nor null");
      }
      headers.push_back({key, value.is_null() ? Field() : Field(value.get<std::string>())});
    }
    return headers;
  }
  if (!json.is_array()) return bad("\"headers\" is neither an object nor a list");
  for (const Json& item : json) {
    if (!item.is_object()) return bad("an item of \"headers\" is not an object");
    auto key = take(item, "key");
    if (!key) return key.error();
    if (!*key) return bad("an item of \"headers\" has no \"key\"");
    auto value = take(item, "value");
    if (!value) return value.error();
    headers.push_back({std::move(**key), *std::move(value)});
  }
  return headers;
}

// A number beyond what the parser's integers hold comes as floating point.
bool is_beyond_integers(const Json& json) {
  return json.is_number_float() && std::abs(json.get<double>()) >= kInt64End;
}

// The number `name`, if it is there: from `min` to the largest of its type.
template <std::signed_integral Number>
Result<std::optional<Number>> take_number(const Json& json, const std::string& name, Number min) {
  using Found = std::optional<Number>;
  constexpr Number kMax = std::numeric_limits<Number>::max();
  const auto at = json.find(name);
  if (at == json.end()) return Found();
  const bool beyond = is_beyond_integers(*at);
  if (!at->is_number_integer() && !beyond) return bad("\"" + name + "\" is not a whole number");
  const bool fits =
      !beyond && (at->is_number_unsigned() ? std::in_range<Number>(at->get<std::uint64_t>())
                                           : std::in_range<Number>(at->get<std::int64_t>()));
  if (fits && at->get<Number>() >= min) return Found(at->get<Number>());
  return bad("\"" + name + "\" is " + at->dump() + ", which is not from " + std::to_string(min) +
             " to " + std::to_string(kMax));
}

std::optional<Error> unknown_name(const Json& json) {
  static constexpr std::array<std::string_view, 9> kNames{"key",          "value",   "key_base64",
                                                          "value_base64", "headers", "timestamp",
                                                          "partition",    "topic",   "offset"};
  for (const auto& [found, value] : json.items()) {
    if (std::ranges::find(kNames, found) != kNames.end()) continue;
    const std::string nearest(nearest_name(found, kNames));
    return bad("unknown name \"" + found + "\"" +
               (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"));
  }
  return std::nullopt;
}

// The library's text names itself and what it was at first; the reason follows the last dash.
Error not_json(const Json::parse_error& error) {
  const std::string text = error.what();
  const std::size_t reason = text.find(" - ");
  std::string told = reason == std::string::npos ? text : text.substr(reason + 3);
  if (const std::size_t read = told.find("; last read: "); read != std::string::npos) {
    const std::size_t expected = told.find("; expected ", read);
    told = told.substr(0, read) + (expected == std::string::npos ? "" : told.substr(expected));
  }
  return bad("not JSON at column " + std::to_string(error.byte) + ": " + told);
}

Result<Json> parse(std::string_view line) {
  try {
    return Json::parse(line);
  } catch (const Json::parse_error& error) {
    return not_json(error);
  }
}

}  // namespace

std::string to_json(const ConsumedRecord& record) {
  Json json = Json::object();
  json["partition"] = record.partition;
  json["offset"] = record.offset;
  json["timestamp"] = record.timestamp;
  put(json, "key", record.key);
  put(json, "value", record.value);
  if (!record.headers.empty()) json["headers"] = to_json(record.headers);
  return dump(json);
}

std::string to_json(const Field& key, const Field& value) {
  Json json = Json::object();
  put(json, "key", key);
  put(json, "value", value);
  return dump(json);
}

Result<Record> record_of_json(std::string_view line) {
  const auto parsed = parse(line);
  if (!parsed) return parsed.error();
  const Json& json = *parsed;
  if (!json.is_object()) return bad("not a JSON object");
  if (const auto unknown = unknown_name(json)) return *unknown;
  if (!json.contains("value") && !json.contains("value_base64")) {
    return bad("no \"value\" in it; a tombstone is written \"value\": null");
  }
  Record record;
  auto key = take(json, "key");
  if (!key) return key.error();
  record.key = *std::move(key);
  auto value = take(json, "value");
  if (!value) return value.error();
  record.value = *std::move(value);
  if (const auto headers = json.find("headers"); headers != json.end()) {
    auto taken = take_headers(*headers);
    if (!taken) return taken.error();
    record.headers = *std::move(taken);
  }
  const auto timestamp = take_number(json, "timestamp", std::numeric_limits<TimestampMs>::min());
  if (!timestamp) return timestamp.error();
  record.timestamp = *timestamp;
  const auto partition = take_number(json, "partition", std::int32_t{0});
  if (!partition) return partition.error();
  record.partition = *partition;
  return record;
}

}  // namespace lastword::client
