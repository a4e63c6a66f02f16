// SPDX-License-Identifier: Apache-2.0
// Which names a topic may have: one rule for the config file and for CreateTopics.
//
// Threads   pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lastword {

inline constexpr std::size_t kTopicNameBytesMax = 249;

/// Why a topic cannot be called that, or nothing when it can. Kafka's rule: 1 to 249 of the ASCII
/// letters and digits, '.', '_' and '-', but neither "." nor "..".
std::optional<std::string> topic_name_error(std::string_view name);

/// Whether two different names are alike when '.' and '_' count as the same, as they do in names
/// of metrics. Kafka refuses a topic whose name collides with that of another.
bool topic_names_collide(std::string_view left, std::string_view right);

/// What colliding names have in common, for a lookup among many.
std::string folded_topic_name(std::string_view name);

}  // namespace lastword
