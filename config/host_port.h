// SPDX-License-Identifier: Apache-2.0
// "HOST:PORT" as settings and command lines write it, IPv6 addresses in brackets.
//
// Threads   pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastword {

struct HostPort {
  std::string host{};  // without brackets
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};

/// Empty unless `text` is a host name or address, a colon and a port of 0 to 65535. Names are not
/// looked up.
std::optional<HostPort> parse_host_port(std::string_view text);

/// Whether `host` stands for all addresses of the machine, such as "0.0.0.0" and "::".
bool is_wildcard_host(std::string_view host);

}  // namespace lastword
