// SPDX-License-Identifier: Apache-2.0
#include "server/context.h"

#include <algorithm>

#include "config/host_port.h"

namespace lastword::server {

std::string client_text(const Request& request) {
  constexpr std::size_t kShownBytesMax = 100;
  if (request.client_id.empty()) return request.peer;
  std::string id = request.client_id.substr(0, kShownBytesMax);
  std::ranges::replace_if(
      id, [](char c) { return c < ' ' || c > '~'; }, '?');
  if (request.client_id.size() > kShownBytesMax) id += "...";
  return request.peer + " (client " + id + ")";
}

Address advertised_address(const BrokerOptions& options, const Address& local) {
  if (const auto advertise = parse_host_port(options.advertise)) {
    return {advertise->host, advertise->port == 0 ? local.port : advertise->port};
  }
  const auto listen = parse_host_port(options.listen);
  if (!listen || is_wildcard_host(listen->host)) return local;
  return {listen->host, listen->port == 0 ? local.port : listen->port};
}

}  // namespace lastword::server
