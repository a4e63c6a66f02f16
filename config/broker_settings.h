// SPDX-License-Identifier: Apache-2.0
// The table of broker settings, as topic_settings.h is for topics: one row each, from which the
// config loader, DescribeConfigs, the JSON schema and the reference page all follow.
//
// Threads   a constant table and pure functions.
// Lifetime  everything returned by reference or view lives for the whole program.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/options.h"
#include "config/setting_value.h"

namespace lastword {

/// `name` is the path in the file, such as "limits.request_bytes"; `kafka_name` is Kafka's own name
/// for the broker's setting that means the same in the same unit, such as "log.cleaner.threads".
using BrokerSetting = Setting<BrokerOptions>;

/// All but `topic_defaults` and `topics`, in the order of the file; rows of one object stand
/// together.
std::span<const BrokerSetting> broker_settings();

/// Row by exact path; null when there is none.
const BrokerSetting* find_broker_setting(std::string_view name);

/// What holds between settings (one limit inside another); names both and the remedy.
std::optional<std::string> broker_options_error(const BrokerOptions& options);

/// A broker setting of Kafka that clients ask for and that has one value here, for ever.
struct FixedBrokerSetting {
  std::string_view kafka_name;
  SettingType type;
  std::string_view value;
  std::string_view meaning;
};
std::span<const FixedBrokerSetting> fixed_broker_settings();

}  // namespace lastword
