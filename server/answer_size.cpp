// SPDX-License-Identifier: Apache-2.0
#include "server/answer_size.h"

#include <set>
#include <string>

#include "server/handlers/lookup.h"

namespace lastword::server {

namespace {

// Structure, texts and encoded bytes of one entry, rounded up; what a growing vector keeps free is
// in it.
constexpr std::size_t kEntryBytes = 512;
constexpr std::size_t kPartitionStatusBytes = 1024;
constexpr std::size_t kTopicConfigsBytes = 8u << 10;  // names and values of all settings
constexpr std::size_t kDescribedConfigsBytes = 10u << 10;
constexpr std::size_t kDocumentedConfigsBytes = 24u << 10;  // with synonyms and documentation

template <class Topics, class Partitions>
std::size_t entries(const Topics& topics, Partitions partitions) {
  std::size_t count = topics.size() + 1;
  for (const auto& topic : topics) count += (topic.*partitions).size();
  return count * kEntryBytes;
}

std::size_t described(const MetadataRequest& request, std::size_t partitions) {
  return kEntryBytes +
         partitions * (request.want_partition_status ? kPartitionStatusBytes : kEntryBytes);
}

}  // namespace

std::size_t answer_bytes(const Context&, const Request&, const ProduceRequest& request) {
  return entries(request.topic_data, &ProduceRequest::Topic::partition_data);
}

std::size_t answer_bytes(const Context&, const Request&, const FetchRequest& request) {
  return entries(request.topics, &FetchRequest::Topic::partitions);
}

std::size_t answer_bytes(const Context&, const Request&, const ListOffsetsRequest& request) {
  return entries(request.topics, &ListOffsetsRequest::Topic::partitions);
}

std::size_t answer_bytes(const Context&, const Request&,
                         const OffsetForLeaderEpochRequest& request) {
  return entries(request.topics, &OffsetForLeaderEpochRequest::Topic::partitions);
}

std::size_t answer_bytes(const Context& context, const Request& info,
                         const MetadataRequest& request) {
  std::size_t bytes = kEntryBytes;
  if (asks_for_all_topics(request, info.api_version)) {
    for (const auto& [name, topic] : context.store.topics()->by_name) {
      bytes += described(request, topic->partitions.size());
    }
    return bytes;
  }
  std::set<const storage::Topic*> seen;  // each is described once
  for (const auto& asked : *request.topics) {
    bytes += kEntryBytes;
    const auto topic = !asked.topic_id.is_zero() ? context.store.find(topic_id_of(asked.topic_id))
                       : asked.name              ? context.store.find(*asked.name)
                                                 : nullptr;
    if (topic && seen.insert(topic.get()).second) {
      bytes += described(request, topic->partitions.size());
    }
  }
  return bytes;
}

std::size_t answer_bytes(const Context&, const Request&, const FindCoordinatorRequest& request) {
  return (request.coordinator_keys.size() + 1) * kEntryBytes;
}

std::size_t answer_bytes(const Context&, const Request&, const CreateTopicsRequest& request) {
  return kEntryBytes + request.topics.size() * kTopicConfigsBytes;
}

std::size_t answer_bytes(const Context&, const Request&, const DeleteTopicsRequest& request) {
  return (request.topics.size() + request.topic_names.size() + 1) * kEntryBytes;
}

std::size_t answer_bytes(const Context&, const Request&, const InitProducerIdRequest&) {
  return kEntryBytes;
}

std::size_t answer_bytes(const Context&, const Request&, const DescribeConfigsRequest& request) {
  const bool documented = request.include_synonyms || request.include_documentation;
  return kEntryBytes +
         request.resources.size() * (documented ? kDocumentedConfigsBytes : kDescribedConfigsBytes);
}

}  // namespace lastword::server
