// SPDX-License-Identifier: Apache-2.0
// The examples in storage/FORMAT.md are what the code reads and writes.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "storage/file_names.h"
#include "storage/identity.h"
#include "storage/manifest.h"
#include "storage/producer_state.h"
#include "storage/topics_file.h"
#include "tests/support/hex.h"

namespace lastword::storage {
namespace {

std::string format_page() {
  std::ifstream file(LASTWORD_SOURCE_DIR "/storage/FORMAT.md");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The bytes of the first hex block under the heading "### Example: <name>".
Bytes example(const std::string& name) {
  const std::string page = format_page();
  const std::string opening = "```hex\n";
  const std::size_t heading = page.find("### Example: " + name + "\n");
  if (heading == std::string::npos) return {};
  const std::size_t begin = page.find(opening, heading);
  const std::size_t end = page.find("```", begin + opening.size());
  if (begin == std::string::npos || end == std::string::npos) return {};
  return from_hex(page.substr(begin + opening.size(), end - begin - opening.size()));
}

Manifest example_manifest() {
  Manifest manifest;
  for (std::size_t i = 0; i < manifest.topic_id.size(); ++i) {
    manifest.topic_id[i] = std::byte(0x10 + i);
  }
  manifest.recovery_point = 10;
  manifest.clean_end = 10;
  manifest.removed_tombstone_mark = 8;
  manifest.next_generation = 2;
  manifest.producer_snapshot = 10;
  manifest.damaged = {{.segment_base_offset = 0,
                       .segment_generation = 1,
                       .position = 61,
                       .length_bytes = 61,
                       .first_offset = 3,
                       .last_offset = 5}};
  manifest.segments = {{.base_offset = 0,
                        .generation = 1,
                        .size_bytes = 244,
                        .last_offset = 9,
                        .records = 6,
                        .stamped_tombstones = 1,
                        .unstamped_tombstones = 0,
                        .earliest_horizon = 1'700'086'400'000,
                        .max_timestamp = 1'700'000'000'000,
                        .max_timestamp_offset = 9,
                        .first_append_ms = 1'700'000'000'100,
                        .last_append_ms = 1'700'000'000'200,
                        .checksum = 0x1badb002},
                       {.base_offset = 10, .last_offset = 9}};
  return manifest;
}

BatchHeader sent(Offset offset, std::int32_t sequence, std::int32_t records) {
  BatchHeader header;
  header.base_offset = offset;
  header.last_offset_delta = records - 1;
  header.record_count = records;
  header.producer_id = 7;
  header.producer_epoch = 0;
  header.base_sequence = sequence;
  return header;
}

TEST(Format, ShowsAManifest) {
  const Bytes bytes = example("manifest");
  const auto decoded = decode_manifest(bytes);
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(*decoded, example_manifest());
  EXPECT_EQ(to_hex(encode(example_manifest())), to_hex(bytes));
}

TEST(Format, ShowsAProducerSnapshot) {
  ProducerState state(10, 1000);
  state.note(sent(0, 0, 3), 1'700'000'000'100);
  BatchHeader stamped = sent(6, 3, 1);
  stamped.attributes = batch_attribute::kLogAppendTime;
  stamped.max_timestamp = 1'700'000'000'200;
  state.note(stamped, 1'700'000'000'200);
  const Bytes bytes = example("producer snapshot");
  EXPECT_EQ(to_hex(state.encode(10)), to_hex(bytes));
  const auto decoded = ProducerState::decode(bytes, 10, 1000);
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(decoded->first.encode(10), bytes);
}

TEST(Format, ShowsAnIdentity) {
  Identity identity;
  for (std::size_t i = 0; i < identity.cluster_id.size(); ++i) {
    identity.cluster_id[i] = std::byte(0x20 + i);
    identity.hash_key[i] = std::byte(0x40 + i);
  }
  identity.next_producer_id = 1001;
  identity.boot_id = "boot-7";
  EXPECT_EQ(to_hex(encode(identity)), to_hex(example("identity")));
  const auto decoded = decode_identity(example("identity"));
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(*decoded, identity);
}

TEST(Format, ShowsTopics) {
  StoredTopic topic{.in_file = true, .overrides = {{"cleanup.policy", "compact"}}};
  RemovedTopic removed{.name = "old", .partitions = 2};
  for (std::size_t i = 0; i < topic.id.size(); ++i) {
    topic.id[i] = std::byte(0x10 + i);
    removed.id[i] = std::byte(0x30 + i);
  }
  const TopicsFile topics{.topics = {{"addresses", topic}}, .removed = {removed}};
  EXPECT_EQ(to_hex(encode(topics)), to_hex(example("topics")));
  const auto decoded = decode_topics(example("topics"));
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(*decoded, topics);
}

TEST(Format, NamesEveryFile) {
  const std::string page = format_page();
  for (const std::string_view name :
       {kManifestName, kIdentityName, kTopicsName, kLockName, kReserveName}) {
    const std::string row = "  " + std::string(name) + " ";
    EXPECT_NE(page.find(row), std::string::npos) << name;
  }
  for (const char* ending : {".log", ".index", ".timeindex", ".snapshot", ".tmp", ".deleted"}) {
    EXPECT_NE(page.find(ending), std::string::npos) << ending;
  }
}

}  // namespace
}  // namespace lastword::storage
