// SPDX-License-Identifier: Apache-2.0
// Texts about all settings, made from the tables: the reference page and a file of defaults.
// docs/settings.md is the former, and a test compares them.
//
// Threads   pure functions.
#pragma once

#include <string>

namespace lastword {

/// Markdown: every broker and topic setting with type, default, unit, meaning.
std::string settings_page();

/// A settings file with comments that says what holds anyway: it loads as the defaults.
std::string print_defaults();

}  // namespace lastword
