// SPDX-License-Identifier: Apache-2.0
#include "tests/support/broker_fixture.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <stdexcept>

#include "client/admin.h"
#include "client/producer.h"

namespace lastword::test {

namespace {

std::int64_t system_time_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

struct BrokerFixture::Reports {
  std::mutex mutex{};
  std::vector<std::string> lines{};
};

BrokerFixture::BrokerFixture(std::function<void(BrokerOptions&)> change)
    : clock(system_time_ms()), reports_(std::make_shared<Reports>()) {
  options.listen = "127.0.0.1:0";
  options.data_dir = folder / "data";
  options.limits.disk_reserve_bytes = 1 << 20;
  if (change) change(options);
  start();
}

BrokerFixture::~BrokerFixture() {
  if (broker_) stop();
}

void BrokerFixture::start() {
  auto broker =
      server::Broker::start({.options = options,
                             .files = files,
                             .clock = clock,
                             .report =
                                 [reports = reports_](storage::Severity, const std::string& line) {
                                   const std::lock_guard lock(reports->mutex);
                                   reports->lines.push_back(line);
                                 },
                             .cleaner_threads = false});
  if (!broker) throw std::runtime_error(broker.error().text);
  broker_ = std::move(*broker);
  broker_->wait_until_loaded();
  port_ = broker_->port();
  options.listen = address();  // a restart keeps the port
}

void BrokerFixture::stop() {
  const auto stopped = broker_->stop();
  EXPECT_TRUE(stopped) << stopped.error().text;
  broker_.reset();
}

std::vector<std::string> BrokerFixture::reports() const {
  const std::lock_guard lock(reports_->mutex);
  return reports_->lines;
}

std::string BrokerFixture::address() const { return "127.0.0.1:" + std::to_string(port_); }

client::ConnectionSetup BrokerFixture::connection() const {
  return {.broker = {"127.0.0.1", port_}};
}

void BrokerFixture::create_topic(const std::string& name, int partitions, const Configs& configs) {
  client::Link link(connection());
  const auto created = client::Admin(link).create_topic(
      {.name = name, .partitions = partitions, .configs = configs});
  if (!created) throw std::runtime_error(created.error().text);
}

Offset BrokerFixture::produce(const std::string& topic, const std::vector<client::Record>& records,
                              std::int32_t partition) {
  Offset first = -1;
  auto producer = client::Producer::open(connection(), topic,
                                         {.on_delivery = [&](const client::Delivery& delivery) {
                                           if (delivery.error)
                                             throw std::runtime_error(delivery.error->text);
                                           first = delivery.base_offset;
                                         }});
  if (!producer) throw std::runtime_error(producer.error().text);
  for (client::Record record : records) {
    record.partition = partition;
    if (!record.timestamp) record.timestamp = clock.now_ms();
    const auto sent = (*producer)->send(record);
    if (!sent) throw std::runtime_error(sent.error().text);
  }
  const auto flushed = (*producer)->flush();
  if (!flushed) throw std::runtime_error(flushed.error().text);
  return first;
}

std::int64_t BrokerFixture::removed_tombstone_mark(const std::string& topic) {
  client::Link link(connection());
  const auto info = client::Admin(link).topic(topic, true);
  if (!info) throw std::runtime_error(info.error().text);
  return info->partitions.at(0).status.value().removed_tombstone_mark;
}

}  // namespace lastword::test
