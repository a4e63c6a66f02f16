// SPDX-License-Identifier: Apache-2.0
#include "storage/topics_file.h"

#include <set>

#include "storage/checked_file.h"
#include "storage/file_names.h"

namespace lastword::storage {
namespace {

constexpr CheckedFormat kFormat{{'L', 'W', 'T', 'P'}, 1, "topics"};
constexpr std::size_t kTopicsBytesMax = 256u << 20;

Error damaged(const std::string& reason) { return {ErrorKind::kDamaged, "topics " + reason}; }

void read_id(Reader& in, TopicId& id) {
  for (std::byte& b : id) in.number(b);
}

void write_topic(Writer& out, const std::string& name, const StoredTopic& topic) {
  out.blob(name, false);
  out.bytes(topic.id);
  out.number(topic.partitions);
  out.number(static_cast<std::uint8_t>(topic.in_file));
  out.number(static_cast<std::uint32_t>(topic.overrides.size()));
  for (const auto& [setting, value] : topic.overrides) {
    out.blob(setting, false);
    out.blob(value, false);
  }
}

void read_topic(Reader& in, std::map<std::string, StoredTopic>& topics) {
  std::string name;
  StoredTopic topic;
  in.blob(name, false);
  read_id(in, topic.id);
  in.number(topic.partitions);
  std::uint8_t in_file = 0;
  in.number(in_file);
  topic.in_file = in_file != 0;
  std::uint32_t overrides = 0;
  in.number(overrides);
  for (; overrides > 0 && !in.failed(); --overrides) {
    std::string setting;
    in.blob(setting, false);
    in.blob(topic.overrides[setting], false);
  }
  if (!topics.emplace(std::move(name), std::move(topic)).second) in.fail("name a topic twice");
}

/// What is wrong with the values, in words that follow "topics"; nullptr if nothing is.
const char* fault_in(const TopicsFile& file) {
  std::set<TopicId> ids;
  for (const auto& [name, topic] : file.topics) {
    if (topic.partitions < 1) return "have one without partitions";
    if (topic.id == TopicId{}) return "have one without an id";
    if (!ids.insert(topic.id).second) return "have two with the same id";
  }
  return nullptr;
}

}  // namespace

Bytes encode(const TopicsFile& file) {
  Writer body;
  body.number(static_cast<std::uint32_t>(file.topics.size()));
  for (const auto& [name, topic] : file.topics) write_topic(body, name, topic);
  body.number(static_cast<std::uint32_t>(file.removed.size()));
  for (const RemovedTopic& topic : file.removed) {
    body.blob(topic.name, false);
    body.bytes(topic.id);
    body.number(topic.partitions);
  }
  return seal_file(kFormat, body.take());
}

Result<TopicsFile> decode_topics(ByteView bytes) {
  auto body = open_sealed_file(kFormat, bytes);
  if (!body) return body.take_error();
  TopicsFile file;
  Reader in(*body);
  std::uint32_t count = 0;
  in.number(count);
  for (; count > 0 && !in.failed(); --count) read_topic(in, file.topics);
  in.number(count);
  for (; count > 0 && !in.failed(); --count) {
    RemovedTopic& topic = file.removed.emplace_back();
    in.blob(topic.name, false);
    read_id(in, topic.id);
    in.number(topic.partitions);
  }
  if (in.failed()) return damaged(std::string(in.reason()));
  if (!in.done()) return damaged("have bytes left over");
  if (const char* fault = fault_in(file)) return damaged(fault);
  return file;
}

Result<TopicsFile> load_topics(FileSystem& files, const std::string& directory) {
  const std::string path = path_in(directory, kTopicsName);
  auto bytes = read_whole(files, path, kTopicsBytesMax);
  if (!bytes) return bytes.take_error();
  auto file = decode_topics(*bytes);
  if (file) return file;
  return Error{ErrorKind::kDamaged, path + ": " + file.error().text +
                                        "; restore the file from a backup: without it nothing "
                                        "tells which folder belongs to which topic"};
}

Result<> save_topics(FileSystem& files, const std::string& directory, const TopicsFile& topics) {
  return replace_whole(files, path_in(directory, kTopicsName), encode(topics));
}

}  // namespace lastword::storage
