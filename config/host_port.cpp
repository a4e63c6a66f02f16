// SPDX-License-Identifier: Apache-2.0
#include "config/host_port.h"

#include <charconv>

namespace lastword {
namespace {

constexpr std::size_t kHostBytesMax = 253;  // DNS
constexpr std::string_view kAlphanumeric =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool is_host(std::string_view host, std::string_view punctuation) {
  if (host.empty() || host.size() > kHostBytesMax) return false;
  for (const char character : host) {
    if (kAlphanumeric.find(character) == std::string_view::npos &&
        punctuation.find(character) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  // '%' begins a zone, as in fe80::1%eth0.
  if (!is_host(host, bracketed ? ":.%-_" : ".-_")) return std::nullopt;
  if (bracketed && host.find(':') == std::string_view::npos) return std::nullopt;

  HostPort result{.host = std::string(host)};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, result.port);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return result;
}

bool is_wildcard_host(std::string_view host) {
  return !host.empty() && host.find_first_not_of("0:.") == std::string_view::npos;
}

}  // namespace lastword
