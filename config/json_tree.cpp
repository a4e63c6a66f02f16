// SPDX-License-Identifier: Apache-2.0
#include "config/json_tree.h"

#include <spdlog/fmt/fmt.h>

#include <cstddef>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "config/setting_value.h"

namespace lastword {
namespace {

constexpr std::size_t kLevelsMax = 8;

/// Walks the text for the library's parser and counts lines on the way.
class LineCountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCountingIterator(const char* position, int* line) : position_(position), line_(line) {}

  reference operator*() const { return *position_; }
  LineCountingIterator& operator++() {
    if (*position_ == '\n') ++*line_;
    ++position_;
    return *this;
  }
  LineCountingIterator operator++(int) {
    LineCountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineCountingIterator& other) const { return position_ == other.position_; }
  bool operator!=(const LineCountingIterator& other) const { return position_ != other.position_; }

 private:
  const char* position_;
  int* line_;
};

/// Receives the library's events; each handler answers whether to go on.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(const int* line) : line_(line) {}

  bool null() override { return scalar(JsonKind::kNull, "null"); }
  bool boolean(bool value) override { return scalar(JsonKind::kBool, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return scalar(JsonKind::kNumber, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(JsonKind::kNumber, std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& written) override {
    return scalar(JsonKind::kNumber, written);
  }
  bool string(string_t& value) override { return scalar(JsonKind::kString, value); }
  bool binary(binary_t&) override { return false; }  // not in JSON
  bool start_object(std::size_t) override { return begin(JsonKind::kObject); }
  bool end_object() override { return end(); }
  bool start_array(std::size_t) override { return begin(JsonKind::kList); }
  bool end_array() override { return end(); }

  bool key(string_t& name) override {
    const auto [found, is_fresh] = open_.back().lines_by_key.try_emplace(name, *line_);
    if (!is_fresh) {
      error_ = fmt::format("line {}: the key {} is given twice, first in line {}", *line_,
                           in_quotes(name), found->second);
      return false;
    }
    key_ = name;
    key_line_ = *line_;
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& exception) override {
    const std::string_view what = exception.what();
    const std::size_t place = what.find("line ");
    error_ = place == std::string_view::npos ? fmt::format("line {}: {}", *line_, what)
                                             : std::string(what.substr(place));
    return false;
  }

  JsonValue take_root() { return std::move(root_); }
  const std::string& error() const { return error_; }

 private:
  struct Open {
    JsonValue value;
    std::map<std::string, int> lines_by_key{};
  };

  JsonValue make(JsonKind kind) {
    JsonValue value{.kind = kind};
    if (!open_.empty() && open_.back().value.kind == JsonKind::kObject) {
      value.key = std::move(key_);
      value.line = key_line_;
    } else if (!open_.empty()) {
      value.line = open_.back().value.line;
    }
    return value;
  }

  bool add(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else {
      open_.back().value.children.push_back(std::move(value));
    }
    return true;
  }

  bool scalar(JsonKind kind, std::string text) {
    JsonValue value = make(kind);
    value.text = std::move(text);
    return add(std::move(value));
  }

  bool begin(JsonKind kind) {
    if (open_.size() == kLevelsMax) {
      error_ = fmt::format("line {}: more than {} levels", *line_, kLevelsMax);
      return false;
    }
    open_.push_back({.value = make(kind)});
    return true;
  }

  bool end() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  const int* line_;
  std::vector<Open> open_{};
  JsonValue root_{};
  std::string key_{};
  int key_line_ = 1;
  std::string error_{};
};

}  // namespace

std::variant<JsonValue, std::string> parse_json(std::string_view text) {
  int line = 1;
  TreeBuilder builder(&line);
  const LineCountingIterator begin(text.data(), &line);
  const LineCountingIterator end(text.data() + text.size(), &line);
  const bool ok =
      nlohmann::json::sax_parse(begin, end, &builder, nlohmann::json::input_format_t::json,
                                /*strict=*/true, /*ignore_comments=*/true);
  if (!ok) return builder.error();
  return builder.take_root();
}

std::string_view kind_name(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBool:
      return "true or false";
    case JsonKind::kNumber:
      return "a number";
    case JsonKind::kString:
      return "text in quotes";
    case JsonKind::kList:
      return "a list";
    case JsonKind::kObject:
      return "an object";
  }
  return "";
}

}  // namespace lastword
