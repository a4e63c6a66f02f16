// SPDX-License-Identifier: Apache-2.0
// Frames: the size, the request or response header, and the body behind it.
//
// Layout    size i32 (of what follows), then
//           request   api key i16, api version i16, correlation id i32, client id (classic nullable
//                     string), in flexible versions a tag section
//           response  correlation id i32, in flexible versions a tag section; that of ApiVersions
//                     never has one (KIP-511), since its reader may know another version
// Threads   pure functions.
// Lifetime  a decoded body may point into the frame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/fields.h"

namespace lastword {

inline constexpr std::size_t kFrameSizeBytes = 4;

struct RequestHeader {
  std::int16_t api_key = 0;
  std::int16_t api_version = 0;
  std::int32_t correlation_id = 0;
  std::optional<std::string> client_id{};
};

/// Reads the header at the front of a request frame (without its size); `in` then stands at the
/// body. For an API that is not served, or a version that is not, the body's place is not known:
/// only the header means anything then. kMalformed if the frame is too short.
Result<RequestHeader> read_request_header(Reader& in);

/// Reads the header at the front of a response frame (without its size) and returns the correlation
/// id; `in` then stands at the body.
Result<std::int32_t> read_response_header(Reader& in, const Api& api, std::int16_t version);

/// Size (still 0) and header. finish_frame() sets the size.
void begin_request(Writer& out, const Api& api, const RequestHeader& header);
void begin_response(Writer& out, const Api& api, std::int16_t version, std::int32_t correlation_id);
Parts finish_frame(Writer& out);

/// kMalformed: an answer to another request than the one expected.
Error correlation_error(std::int32_t answered, std::int32_t expected);

/// Decodes the body of a request whose header was read from `in`; surplus bytes are ignored.
template <Message M>
Result<M> decode_request(const Reader& in, std::int16_t version) {
  return decode<M>(in.rest(), version, kRequestRules);
}

/// A whole response, size included.
template <Message M>
Parts encode_response(const M& message, std::int16_t version, std::int32_t correlation_id) {
  Writer out;
  begin_response(out, M::api, version, correlation_id);
  MessageCodec<M>::write(out, message, version);
  return finish_frame(out);
}

/// A whole request, size included. Key and version of `header` are set from M and `version`.
template <Message M>
Bytes encode_request(const M& message, std::int16_t version, RequestHeader header) {
  header.api_key = M::api.key;
  header.api_version = version;
  Writer out;
  begin_request(out, M::api, header);
  MessageCodec<M>::write(out, message, version);
  Parts frame = finish_frame(out);
  return std::move(std::get<Bytes>(frame.parts.front()));
}

/// Decodes a whole response frame (without its size) to the request with `correlation_id`.
template <Message M>
Result<M> decode_response(ByteView frame, std::int16_t version, std::int32_t correlation_id) {
  Reader in(frame);
  const Result<std::int32_t> answered = read_response_header(in, M::api, version);
  if (!answered) return answered.error();
  if (*answered != correlation_id) {
    return correlation_error(*answered, correlation_id);
  }
  return decode<M>(in.rest(), version, kResponseRules);
}

}  // namespace lastword
