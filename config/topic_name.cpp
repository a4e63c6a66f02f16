// SPDX-License-Identifier: Apache-2.0
#include "config/topic_name.h"

#include <algorithm>

#include "config/setting_value.h"

namespace lastword {
namespace {

constexpr std::string_view kTopicNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

}  // namespace

std::optional<std::string> topic_name_error(std::string_view name) {
  if (name.empty()) return "the topic name is empty";
  if (name == "." || name == "..") return "a topic cannot be called \".\" or \"..\"";
  if (name.size() > kTopicNameBytesMax) {
    return "the topic name " + in_quotes(name) + " has " + std::to_string(name.size()) +
           " characters; at most " + std::to_string(kTopicNameBytesMax) + " are allowed";
  }
  if (name.find_first_not_of(kTopicNameCharacters) != std::string_view::npos) {
    return "the topic name " + in_quotes(name) +
           " contains a character other than ASCII letters, digits, '.', '_' and '-'";
  }
  return std::nullopt;
}

bool topic_names_collide(std::string_view left, std::string_view right) {
  return left != right && folded_topic_name(left) == folded_topic_name(right);
}

std::string folded_topic_name(std::string_view name) {
  std::string folded(name);
  std::ranges::replace(folded, '.', '_');
  return folded;
}

}  // namespace lastword
