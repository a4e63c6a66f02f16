// SPDX-License-Identifier: Apache-2.0
#include "protocol/header.h"

#include <limits>

#include "protocol/check.h"
#include "protocol/messages/apis.h"

namespace lastword {
namespace {

bool response_header_is_flexible(const Api& api, std::int16_t version) {
  return api.flexible(version) && api.key != kApiVersionsApi.key;
}

}  // namespace

Result<RequestHeader> read_request_header(Reader& in) {
  RequestHeader header;
  in.number(header.api_key);
  in.number(header.api_version);
  in.number(header.correlation_id);
  in.blob(header.client_id, false);
  const Api* api = find_api(header.api_key);
  if (api != nullptr && api->flexible(header.api_version)) in.tags();
  if (!in.failed()) return header;
  return Error{ErrorKind::kMalformed, "request header: " + std::string(in.reason())};
}

Result<std::int32_t> read_response_header(Reader& in, const Api& api, std::int16_t version) {
  std::int32_t correlation_id = 0;
  in.number(correlation_id);
  if (response_header_is_flexible(api, version)) in.tags();
  if (!in.failed()) return correlation_id;
  return Error{ErrorKind::kMalformed, "response header: " + std::string(in.reason())};
}

Error correlation_error(std::int32_t answered, std::int32_t expected) {
  return {ErrorKind::kMalformed, "the answer is to request " + std::to_string(answered) +
                                     ", not to " + std::to_string(expected)};
}

void begin_request(Writer& out, const Api& api, const RequestHeader& header) {
  out.number(std::int32_t{0});
  out.number(header.api_key);
  out.number(header.api_version);
  out.number(header.correlation_id);
  out.blob(header.client_id, false);
  if (api.flexible(header.api_version)) out.varint(0);
}

void begin_response(Writer& out, const Api& api, std::int16_t version,
                    std::int32_t correlation_id) {
  out.number(std::int32_t{0});
  out.number(correlation_id);
  if (response_header_is_flexible(api, version)) out.varint(0);
}

Parts finish_frame(Writer& out) {
  const std::size_t size = out.size_bytes() - kFrameSizeBytes;
  LW_CHECK(size <= std::numeric_limits<std::int32_t>::max());
  out.patch_front(static_cast<std::int32_t>(size));
  return out.take_parts();
}

}  // namespace lastword
