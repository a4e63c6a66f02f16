// SPDX-License-Identifier: Apache-2.0
// Any bytes as a request frame (header and the body of whatever API it names) and as responses.
// What decodes must encode, and decode to the same again.
#include "protocol/check.h"
#include "protocol/header.h"
#include "tests/support/every_message.h"

namespace lastword {
namespace {

// The second time the bytes may be fewer (unknown tags are gone), and with them the allowance.
constexpr DecodeRules kGenerous{.memory_ratio = 1000};

template <class M>
void check_message(ByteView body, std::int16_t version, const DecodeRules& rules) {
  const auto message = decode<M>(body, version, rules);
  if (!message) return;
  const Bytes wire = encode(*message, version);
  const auto again = decode<M>(wire, version, kGenerous);
  LW_CHECK(again);
  LW_CHECK(encode(*again, version) == wire);
}

void check_frame(ByteView frame) {
  Reader in(frame);
  const auto header = read_request_header(in);
  if (!header) return;
  const Api* api = find_api(header->api_key);
  if (api == nullptr || !api->supported.has(header->api_version)) return;
  for_each_api([&]<class Request, class Response>() {
    if (&Request::api != api) return;
    check_message<Request>(in.rest(), header->api_version, kRequestRules);
    check_message<Response>(in.rest(), header->api_version, kResponseRules);
  });
}

}  // namespace
}  // namespace lastword

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lastword::check_frame(std::as_bytes(std::span(data, size)));
  return 0;
}
