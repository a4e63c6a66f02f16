// SPDX-License-Identifier: Apache-2.0
#include "client/connection.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <thread>

#include "protocol/messages/metadata.h"
#include "tests/support/broker_fixture.h"

namespace lastword::client {
namespace {

using asio::ip::tcp;

/// Takes one connection, says what it is told to say, and closes or stays.
class Stranger {
 public:
  explicit Stranger(std::string says, bool closes) {
    thread_ = std::thread([this, text = std::move(says), closes] {
      asio::error_code ignored;
      tcp::socket socket(io_);
      acceptor_.accept(socket, ignored);
      asio::write(socket, asio::buffer(text), ignored);
      if (closes) return socket.close(ignored);
      char byte = 0;
      while (!ignored) socket.read_some(asio::buffer(&byte, 1), ignored);
    });
  }
  ~Stranger() { thread_.join(); }
  ConnectionSetup setup() const {
    return {.broker = {"127.0.0.1", acceptor_.local_endpoint().port()},
            .request_timeout = std::chrono::milliseconds(200)};
  }

 private:
  asio::io_context io_{};
  tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::thread thread_{};
};

std::string error_of(const ConnectionSetup& setup) {
  const auto opened = Connection::open(setup);
  return opened ? "" : opened.error().text;
}

TEST(Connection, SaysWhatToDoWhenNobodyListens) {
  std::uint16_t port = 0;
  {
    asio::io_context io;
    port = tcp::acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0))
               .local_endpoint()
               .port();
  }
  EXPECT_EQ(error_of({.broker = {"127.0.0.1", port}}),
            "cannot reach 127.0.0.1:" + std::to_string(port) +
                ": Connection refused; is lastwordd running there? (--broker HOST:PORT)");
}

TEST(Connection, TellsAStrangerFromABroker) {
  const Stranger web("HTTP/1.1 400 Bad Request\r\n\r\n", true);
  EXPECT_NE(error_of(web.setup()).find("is it a Kafka port?"), std::string::npos);
}

TEST(Connection, DoesNotWaitForEverForSilence) {
  const Stranger silent("", false);
  EXPECT_NE(error_of(silent.setup()).find("gave no answer within 200 ms"), std::string::npos);
}

TEST(Connection, SaysWhenTheOtherSideCloses) {
  const Stranger closing("", true);
  const std::string text = error_of(closing.setup());
  EXPECT_TRUE(text.find("closed the connection") != std::string::npos ||
              text.find("was lost") != std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("; is this a Kafka broker without TLS?")) << text;
}

TEST(Connection, UsesTheHighestVersionThatBothKnow) {
  const test::BrokerFixture fixture;
  const auto connection = Connection::open(fixture.connection());
  ASSERT_TRUE(connection) << connection.error().text;
  EXPECT_EQ(*(*connection)->version(kFetchApi), 17);
  EXPECT_EQ(*(*connection)->version(kFetchApi, 12), 12);
  EXPECT_FALSE((*connection)->version(kFetchApi, 3));
}

TEST(Connection, AnswersComeInTheOrderOfTheRequests) {
  const test::BrokerFixture fixture;
  const auto connection = Connection::open(fixture.connection());
  ASSERT_TRUE(connection) << connection.error().text;
  std::vector<Connection::Sent> sent;
  for (std::int16_t version = 4; version <= 12; ++version) {
    sent.push_back(*(*connection)->send(MetadataRequest{}, version));
  }
  for (const Connection::Sent& one : sent) {
    const auto response = (*connection)->receive<MetadataResponse>(one);
    ASSERT_TRUE(response) << response.error().text;
    EXPECT_EQ(response->brokers.size(), 1U);
  }
}

}  // namespace
}  // namespace lastword::client
