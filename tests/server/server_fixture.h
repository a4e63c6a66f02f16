// SPDX-License-Identifier: Apache-2.0
// A broker over files in memory whose calls are recorded, held and made to fail; time is moved by
// hand, and what it reports is kept.
//
// Threads   one test; the broker has its own.
// Lifetime  clients end first, or are left behind by a kill.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protocol/messages/fetch.h"
#include "protocol/messages/list_offsets.h"
#include "protocol/messages/produce.h"
#include "server/broker.h"
#include "tests/server/raw_client.h"
#include "tests/support/batches.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/recording_file_system.h"

namespace lastword::test {

using ProducedPartition = ProduceResponse::Topic::Partition;
using FetchedPartition = FetchResponse::Topic::Partition;
using ListedPartition = ListOffsetsResponse::Topic::Partition;

class ServerFixture {
 public:
  static constexpr const char* kTopic = "addresses";

  explicit ServerFixture(std::function<void(BrokerOptions&)> change = {});
  ~ServerFixture();

  void start();
  /// It serves, though its logs may not be open yet.
  void begin_start();
  void stop();
  /// The process dies: nothing that is under way ends.
  void kill();
  void restart() {
    stop();
    start();
  }

  RawClient client() const { return RawClient(broker->port()); }
  void create(const std::string& topic, std::map<std::string, std::string> settings = {},
              std::int32_t partitions = 1);
  /// kTopic, made without asking for more.
  std::unique_ptr<RawClient> with_topic(std::map<std::string, std::string> settings = {}) {
    create(kTopic, std::move(settings));
    return std::make_unique<RawClient>(broker->port());
  }
  storage::TopicId topic_id(const std::string& topic = kTopic) const;

  /// Whether the log reaches `end`, durable or not; waits a while for it.
  bool is_written_to(Offset end) const;
  /// Whether a line with all `parts` has been reported; waits a while for it.
  bool reported(const std::vector<std::string>& parts) const;
  std::vector<std::string> lines() const;

  ManualClock clock{};
  MemoryFileSystem memory{&clock};
  RecordingFileSystem files{memory};
  BrokerOptions options{};
  std::unique_ptr<server::Broker> broker{};

 private:
  struct Lines;
  std::shared_ptr<Lines> lines_;
};

// ---- one-line requests -----------------------------------------------------------------------

inline constexpr std::int16_t kProduceVersion = 9;
inline constexpr std::int16_t kFetchVersion = 12;
inline constexpr std::int16_t kListOffsetsVersion = 7;

/// One record with that key and value.
Bytes one_record(const std::string& key, const std::string& value);

ProduceRequest produce_request(Bytes records, std::int16_t acks = -1,
                               const std::string& topic = ServerFixture::kTopic,
                               std::int32_t partition = 0);
ProducedPartition produce(RawClient& client, Bytes records, std::int16_t acks = -1,
                          const std::string& topic = ServerFixture::kTopic);
ProducedPartition only(const ProduceResponse& response);

struct FetchFrom {
  Offset offset = 0;
  std::int32_t max_wait_ms = 0;
  std::int32_t min_bytes = 1;
  std::int32_t max_bytes = 1 << 24;
  std::string topic = ServerFixture::kTopic;
};
FetchRequest fetch_request(const FetchFrom& from);
FetchedPartition fetch(RawClient& client, const FetchFrom& from);
FetchedPartition only(const FetchResponse& response);
std::vector<OwnedRecord> records_in(const FetchedPartition& partition);

ListOffsetsRequest list_request(std::int64_t timestamp,
                                const std::string& topic = ServerFixture::kTopic);
/// Waits until the first partition of `topic` is open: a daemon serves before all its logs are.
void wait_until_open(RawClient& client, const std::string& topic = ServerFixture::kTopic);
ListedPartition list_offset(RawClient& client, std::int64_t timestamp,
                            std::int16_t version = kListOffsetsVersion);

}  // namespace lastword::test
