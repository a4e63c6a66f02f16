// SPDX-License-Identifier: Apache-2.0
// Any bytes as a producer snapshot: refused, or a state that encodes to the same bytes and goes on
// working. The first byte says whether they get a frame.
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/check.h"
#include "storage/checked_file.h"
#include "storage/producer_state.h"

namespace {

constexpr std::int64_t kProducersMax = 1000;
constexpr std::int64_t kExpirationMs = 1000;

/// Appends of a known and of a new producer behind everything in the snapshot.
void go_on(lastword::storage::ProducerState& state, lastword::Offset end) {
  if (end > (std::int64_t{1} << 62)) return;
  lastword::BatchHeader header;
  header.base_offset = end;
  header.producer_epoch = 0;
  header.base_sequence = 0;
  for (std::int64_t producer = 0; producer < 10; ++producer, ++header.base_offset) {
    header.producer_id = producer;
    const auto checked = state.check(header, 0);
    if (checked && !*checked) state.note(header, 0);
    LW_CHECK(!checked || *checked || *state.check(header, 0));
  }
  LW_CHECK(state.size() <= kProducersMax);
  const auto again = lastword::storage::ProducerState::decode(state.encode(header.base_offset),
                                                              kProducersMax, kExpirationMs);
  LW_CHECK(again && again->first.size() == state.size());
  state.expire(kExpirationMs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lastword;
  constexpr storage::CheckedFormat kFormat{{'L', 'W', 'P', 'S'}, 1, "producer snapshot"};
  if (size == 0) return 0;
  const ByteView input = std::as_bytes(std::span(data, size)).subspan(1);
  Bytes bytes(input.begin(), input.end());
  if (data[0] % 2 == 0) bytes = storage::seal_file(kFormat, bytes);
  auto decoded = storage::ProducerState::decode(bytes, kProducersMax, kExpirationMs);
  if (!decoded) return 0;
  auto& [state, end] = *decoded;
  if (std::cmp_less(state.size(), kProducersMax)) LW_CHECK(state.encode(end) == bytes);
  go_on(state, end);
  return 0;
}
