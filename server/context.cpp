// SPDX-License-Identifier: Apache-2.0
#include "server/context.h"

#include "config/host_port.h"

namespace lastword::server {

Address advertised_address(const BrokerOptions& options, const Address& local) {
  if (const auto advertise = parse_host_port(options.advertise)) {
    return {advertise->host, advertise->port == 0 ? local.port : advertise->port};
  }
  const auto listen = parse_host_port(options.listen);
  if (!listen || is_wildcard_host(listen->host)) return local;
  return {listen->host, listen->port == 0 ? local.port : listen->port};
}

}  // namespace lastword::server
