// SPDX-License-Identifier: Apache-2.0
// The broker as its users meet it: a real process, real sockets.
//
//   bench_broker [--smoke] [--program PATH]
//
// Prints a table: produce and fetch in MB/s through librdkafka and through our own client, with CPU
// seconds of the broker a GB; acknowledged records a second over 64 connections beside what the
// disk does sync after sync; start-up time and resident memory. Rounds are interleaved, medians
// printed.
#include <fcntl.h>
#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "client/admin.h"
#include "client/consumer.h"
#include "client/producer.h"
#include "tests/bench/bench_daemon.h"

namespace lastword::bench {
namespace {

struct Size {
  int rounds = 5;
  std::int64_t produce_bytes = 512ll << 20;
  int commits = 2000;
  int segments = 5000;
};
constexpr Size kSmoke{.rounds = 1, .produce_bytes = 8ll << 20, .commits = 128, .segments = 50};

constexpr std::size_t kRecordBytes = 1024;
constexpr int kConnections = 64;

std::string test_value(std::size_t bytes) {
  std::string value(bytes, ' ');
  for (std::size_t i = 0; i < bytes; ++i) value[i] = static_cast<char>('a' + i * 7919 % 26);
  return value;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void row(const std::string& what, double value, const char* unit) {
  std::printf("%-58s %10.1f %s\n", what.c_str(), value, unit);
  std::fflush(stdout);
}

// ---- librdkafka ----------------------------------------------------------------------------

rd_kafka_t* open_rdkafka(rd_kafka_type_t type, const std::string& broker) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char text[512];
  const auto set = [&](const char* name, const char* value) {
    must(rd_kafka_conf_set(conf, name, value, text, sizeof text) == RD_KAFKA_CONF_OK, name);
  };
  set("bootstrap.servers", broker.c_str());
  if (type == RD_KAFKA_PRODUCER) {
    set("linger.ms", "5");
    set("queue.buffering.max.kbytes", "1048576");
    set("queue.buffering.max.messages", "2000000");
    set("batch.size", "1000000");
  } else {
    set("group.id", "bench");
    set("enable.auto.commit", "false");
    set("queued.min.messages", "1000000");
    set("fetch.message.max.bytes", "8388608");
  }
  rd_kafka_t* client = rd_kafka_new(type, conf, text, sizeof text);
  must(client != nullptr, text);
  return client;
}

double rdkafka_produce(const std::string& broker, const char* topic, std::int64_t bytes) {
  rd_kafka_t* producer = open_rdkafka(RD_KAFKA_PRODUCER, broker);
  rd_kafka_topic_t* handle = rd_kafka_topic_new(producer, topic, nullptr);
  const std::string value = test_value(kRecordBytes);
  const auto begun = SteadyClock::now();
  for (std::int64_t sent = 0; sent < bytes; sent += static_cast<std::int64_t>(kRecordBytes)) {
    while (rd_kafka_produce(handle, 0, RD_KAFKA_MSG_F_COPY, const_cast<char*>(value.data()),
                            value.size(), nullptr, 0, nullptr) != 0) {
      rd_kafka_poll(producer, 10);
    }
  }
  must(rd_kafka_flush(producer, 120'000) == RD_KAFKA_RESP_ERR_NO_ERROR, "flush");
  const double took = seconds_since(begun);
  rd_kafka_topic_destroy(handle);
  rd_kafka_destroy(producer);
  return static_cast<double>(bytes) / 1e6 / took;
}

double rdkafka_fetch(const std::string& broker, const char* topic, std::int64_t bytes) {
  rd_kafka_t* consumer = open_rdkafka(RD_KAFKA_CONSUMER, broker);
  rd_kafka_poll_set_consumer(consumer);
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic, 0)->offset = 0;
  const auto begun = SteadyClock::now();
  must(rd_kafka_assign(consumer, list) == RD_KAFKA_RESP_ERR_NO_ERROR, "assign");
  std::int64_t got = 0;
  while (got < bytes) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer, 10'000);
    must(message != nullptr && message->err == RD_KAFKA_RESP_ERR_NO_ERROR, "fetch");
    got += static_cast<std::int64_t>(message->len);
    rd_kafka_message_destroy(message);
  }
  const double took = seconds_since(begun);
  rd_kafka_topic_partition_list_destroy(list);
  rd_kafka_consumer_close(consumer);
  rd_kafka_destroy(consumer);
  return static_cast<double>(got) / 1e6 / took;
}

// ---- our own client ------------------------------------------------------------------------

client::ConnectionSetup setup_of(const std::string& broker) {
  client::ConnectionSetup setup;
  setup.broker = *parse_host_port(broker);
  return setup;
}

double own_produce(const std::string& broker, const char* topic, std::int64_t bytes) {
  auto producer = client::Producer::open(setup_of(broker), topic, {});
  must(static_cast<bool>(producer), "own producer");
  const std::string value = test_value(kRecordBytes);
  client::Record record;
  record.value = value;
  record.partition = 0;
  const auto begun = SteadyClock::now();
  for (std::int64_t sent = 0; sent < bytes; sent += static_cast<std::int64_t>(kRecordBytes)) {
    must(static_cast<bool>((*producer)->send(record)), "own send");
  }
  must(static_cast<bool>((*producer)->flush()), "own flush");
  return static_cast<double>(bytes) / 1e6 / seconds_since(begun);
}

double own_fetch(const std::string& broker, const char* topic, std::int64_t bytes) {
  client::Link link(setup_of(broker));
  auto info = client::Admin(link).topic(topic);
  must(static_cast<bool>(info), "own topic");
  client::Consumer consumer(link, *info, {});
  consumer.seek(0, 0);
  std::int64_t got = 0;
  const auto begun = SteadyClock::now();
  while (got < bytes) {
    const auto chunks = consumer.poll();
    must(static_cast<bool>(chunks), "own fetch");
    for (const auto& chunk : *chunks) {
      got += static_cast<std::int64_t>(chunk.records.size() * kRecordBytes);
    }
  }
  return static_cast<double>(got) / 1e6 / seconds_since(begun);
}

// ---- tables --------------------------------------------------------------------------------

void throughput(const std::string& program, const char* durability, const Size& size) {
  struct Case {
    const char* name;
    double (*run)(const std::string&, const char*, std::int64_t);
    std::vector<double> rates{};
    std::vector<double> cpu{};
  };
  std::vector<Case> cases{{"produce, librdkafka", rdkafka_produce},
                          {"fetch, librdkafka", rdkafka_fetch},
                          {"produce, own client", own_produce},
                          {"fetch, own client", own_fetch}};
  double resident_mb = 0;
  for (int round = 0; round < size.rounds; ++round) {
    Daemon daemon(program, "\"durability\": \"" + std::string(durability) +
                               "\", \"topics\": {\"bench\": {}, \"own\": {}}");
    daemon.start();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const double before = daemon.cpu_seconds();
      cases[i].rates.push_back(
          cases[i].run(daemon.address(), i < 2 ? "bench" : "own", size.produce_bytes));
      cases[i].cpu.push_back((daemon.cpu_seconds() - before) /
                             (static_cast<double>(size.produce_bytes) / 1e9));
      resident_mb = std::max(resident_mb, daemon.resident_mb());
    }
  }
  for (const Case& one : cases) {
    const std::string name = std::string(one.name) + ", 1 KiB records, " + durability;
    row(name, median(one.rates), "MB/s");
    row("  broker's CPU", median(one.cpu), "s/GB");
  }
  row(std::string("resident under load, ") + durability, resident_mb, "MB");
}

/// One record a request from 64 connections, all of them waiting for the disk.
double commits_per_second(const std::string& broker, int commits) {
  std::atomic<int> left{commits};
  std::vector<std::thread> threads;
  const auto begun = SteadyClock::now();
  for (int i = 0; i < kConnections; ++i) {
    threads.emplace_back([&] {
      client::Producer::Options options;
      options.in_flight_max = 1;
      auto producer = client::Producer::open(setup_of(broker), "bench", options);
      must(static_cast<bool>(producer), "committing producer");
      client::Record record;
      record.value = test_value(100);
      record.partition = 0;
      while (left.fetch_sub(1) > 0) {
        must(static_cast<bool>((*producer)->send(record)), "commit");
        must(static_cast<bool>((*producer)->flush()), "commit");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return commits / seconds_since(begun);
}

double syncs_per_second(const std::filesystem::path& folder, int syncs) {
  const std::string path = (folder / "syncs").string();
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY, 0644);
  must(file >= 0, "open");
  const std::string value = test_value(170);
  const auto begun = SteadyClock::now();
  for (int i = 0; i < syncs; ++i) {
    must(::write(file, value.data(), value.size()) > 0 && ::fdatasync(file) == 0, "sync");
  }
  const double rate = syncs / seconds_since(begun);
  ::close(file);
  return rate;
}

void group_commit(const std::string& program, const Size& size) {
  std::vector<double> commits;
  std::vector<double> syncs;
  Daemon daemon(program, R"("topics": {"bench": {}})");
  daemon.start();
  for (int round = 0; round < size.rounds; ++round) {
    commits.push_back(commits_per_second(daemon.address(), size.commits));
    syncs.push_back(syncs_per_second(daemon.folder(), size.commits / 8));
  }
  row("acknowledged, 64 connections, a record a request, fsync", median(commits), "records/s");
  row("the disk, write and fdatasync one after another", median(syncs), "syncs/s");
  row("  ratio", median(commits) / median(syncs), "");
}

void starts(const std::string& program, const Size& size) {
  std::vector<double> empty;
  for (int round = 0; round < size.rounds; ++round) {
    Daemon daemon(program, "");
    empty.push_back(daemon.start() * 1e3);
    if (round == 0) row("resident idle, empty directory", daemon.resident_mb(), "MB");
  }
  row("start, empty directory", median(empty), "ms");

  Daemon daemon(program, R"("durability": "os", "topics": {"bench": {"segment.bytes": 1024}})");
  daemon.start();
  {
    client::Producer::Options options;
    options.batch.batch_bytes_max = 600;
    auto producer = client::Producer::open(setup_of(daemon.address()), "bench", options);
    must(static_cast<bool>(producer), "producer of segments");
    client::Record record;
    record.value = test_value(kRecordBytes);
    record.partition = 0;
    for (int i = 0; i <= size.segments; ++i) {
      must(static_cast<bool>((*producer)->send(record)), "segment");
    }
    must(static_cast<bool>((*producer)->flush()), "segments");
  }
  std::vector<double> many;
  double resident_mb = 0;
  for (int round = 0; round < size.rounds; ++round) {
    daemon.stop();
    many.push_back(daemon.start() * 1e3);
    resident_mb = daemon.resident_mb();
  }
  const std::string segments = std::to_string(size.segments) + " closed segments";
  row("start, " + segments, median(many), "ms");
  row("resident idle, " + segments, resident_mb, "MB");
}

}  // namespace
}  // namespace lastword::bench

int main(int count, char** words) {
  using namespace lastword::bench;
  Size size;
  auto program = (std::filesystem::path(words[0]).parent_path() / ".." / "lastwordd").string();
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(words[i], "--smoke") == 0) size = kSmoke;
    if (std::strcmp(words[i], "--program") == 0 && i + 1 < count) program = words[++i];
  }
  starts(program, size);
  group_commit(program, size);
  throughput(program, "os", size);
  throughput(program, "fsync", size);
  return 0;
}
