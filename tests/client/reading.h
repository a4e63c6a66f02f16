// SPDX-License-Identifier: Apache-2.0
// What is in a partition, read through the client.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "client/admin.h"
#include "client/consumer.h"
#include "protocol/messages/fetch.h"
#include "tests/support/broker_fixture.h"

namespace lastword::test {

/// Every record of a partition from `from` to the high watermark, which the reading must reach.
inline std::vector<client::ConsumedRecord> read_all(const BrokerFixture& fixture,
                                                    const std::string& topic, Offset from = 0,
                                                    client::Consumer::Options options = {},
                                                    std::int32_t partition = 0) {
  client::Link link(fixture.connection());
  const auto info = client::Admin(link).topic(topic);
  if (!info) throw std::runtime_error(info.error().text);
  options.wait_max = std::chrono::milliseconds(0);
  client::Consumer consumer(link, *info, options);
  consumer.seek(partition, from);
  std::vector<client::ConsumedRecord> records;
  for (;;) {
    auto chunks = consumer.poll();
    if (!chunks) throw std::runtime_error(chunks.error().text);
    for (client::PartitionChunk& chunk : *chunks) {
      if (chunk.error != ErrorCode::kNone) throw std::runtime_error("the fetch was refused");
      for (client::ConsumedRecord& record : chunk.records) records.push_back(std::move(record));
      if (chunk.next >= chunk.high_watermark) return records;
    }
  }
}

inline std::vector<Offset> offsets_of(const std::vector<client::ConsumedRecord>& records) {
  std::vector<Offset> offsets;
  for (const auto& record : records) offsets.push_back(record.offset);
  return offsets;
}

/// The headers of a partition's batches as they are stored.
inline std::vector<BatchHeader> batches_of(const BrokerFixture& fixture, const std::string& topic) {
  client::Link link(fixture.connection());
  const auto response = link.call<FetchResponse>(
      FetchRequest{.topics = {{.topic = topic,
                               .partitions = {{.partition = 0, .partition_max_bytes = 1 << 24}}}}},
      {.version_max = 12});
  if (!response) throw std::runtime_error(response.error().text);
  std::vector<BatchHeader> headers;
  ByteView bytes = response->responses.at(0).partitions.at(0).records.view();
  while (const auto header = read_batch_header(bytes)) {
    headers.push_back(*header);
    bytes = bytes.subspan(header->size_bytes());
  }
  return headers;
}

}  // namespace lastword::test
