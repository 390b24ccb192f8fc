// Goal: the server answers by kernel, direct, by relaunch and by threads alike; what it stored it
// finds; wrong requests get memcached's codes, garbage gets nothing and harms nobody; a full bucket
// refuses new keys and keeps its old ones; answers under concurrent SETs are linearizable. Method:
// clients over the loopback address.

#include "apps/memcached/server.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <random>

#include "apps/common/small_device_fixture.hpp"
#include "apps/memcached/client.hpp"
#include "apps/memcached/history.hpp"
#include "base/clock.hpp"

namespace k2k::memcached {
namespace {

std::uint16_t number_of(Code code) { return static_cast<std::uint16_t>(code); }

class ServerTest : public testing::TestWithParam<By> {
 protected:
  void start(ServerOptions options = {}) {
    options.by = GetParam();
    options.groups = 4;
    options.items = 4;
    auto server = Server::start(options, apps::small_device(2));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(server).value();
  }
  void TearDown() override {
    if (!server_) return;
    const Status stopped = server_->stop();
    EXPECT_TRUE(stopped) << stopped.error().message;
  }
  [[nodiscard]] Client client() const {
    auto client = Client::connect(server_->port());
    EXPECT_TRUE(client) << client.error().message;
    return std::move(client).value();
  }

  std::unique_ptr<Server> server_;
};

TEST_P(ServerTest, finds_what_it_stored) {
  start();
  Client asks = client();
  EXPECT_EQ(asks.get("key")->code, number_of(Code::not_found));
  EXPECT_EQ(asks.get("key")->value, "Not found");
  for (const std::size_t bytes : {0u, 1u, 7u, 8u, 9u, 1000u, 1024u}) {
    const std::string value(bytes, static_cast<char>('a' + bytes % 26));
    const auto stored = asks.set("key", value, 0xdeadbeef);
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_EQ(stored->code, 0);
    const auto read = asks.get("key");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->value, value);
    EXPECT_EQ(read->flags, 0xdeadbeef);
    EXPECT_EQ(read->cas, stored->cas);
  }
  const std::string long_key(250, 'k');
  EXPECT_EQ(asks.set(long_key, "long")->code, 0);
  EXPECT_EQ(asks.get(long_key)->value, "long");
  EXPECT_EQ(asks.get(long_key.substr(1))->code, number_of(Code::not_found));
}

TEST_P(ServerTest, answers_wrong_requests_with_memcacheds_codes) {
  start();
  Client asks = client();
  EXPECT_EQ(asks.ask(0x55, "", "key", "", 0)->value, "Unknown command");
  EXPECT_EQ(asks.get("")->code, number_of(Code::invalid));
  EXPECT_EQ(asks.get(std::string(251, 'k'))->code, number_of(Code::invalid));
  EXPECT_EQ(asks.ask(opcode_set, "", "key", "value", 0)->code, number_of(Code::invalid));
  EXPECT_EQ(asks.set("key", "value", 0, 0, 60)->code, number_of(Code::invalid));
  EXPECT_EQ(asks.set("key", std::string(1025, 'v'))->value, "Too large.");
  EXPECT_EQ(asks.set("key", "value", 0, 77)->value, "Not found");
  const auto stored = asks.set("key", "value");
  EXPECT_EQ(asks.set("key", "other", 0, stored->cas + 1)->value, "Data exists for key.");
  EXPECT_EQ(asks.get("key")->value, "value");
  EXPECT_EQ(asks.set("key", "other", 0, stored->cas)->code, 0);
  EXPECT_EQ(asks.get("key")->value, "other");
}

TEST_P(ServerTest, drops_garbage_and_goes_on) {
  start();
  Client asks = client();
  ASSERT_EQ(asks.set("key", "value")->code, 0);
  const std::string right = request_of(1, opcode_get, "", "key", "", 0);
  std::mt19937 random(1);
  std::uint64_t sent = 0;
  for (std::size_t cut = 0; cut < right.size(); ++cut, ++sent)
    asks.send_bytes(right.substr(0, cut));
  for (int round = 0; round < 50; ++round, ++sent) {
    std::string bytes(1 + random() % 1400, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    bytes[0] = 1;  // No frame of one datagram.
    if (bytes.size() > 4) bytes[4] = 1;
    asks.send_bytes(bytes);
  }
  asks.send_bytes(std::string(9000, 'x'));
  EXPECT_EQ(asks.get("key")->value, "value");
  EXPECT_TRUE(server_->stop());
  EXPECT_GE(server_->counters().dropped, sent + 1);
  EXPECT_GE(server_->counters().gets, 1u);
}

TEST_P(ServerTest, survives_a_client_that_vanishes) {
  start();
  for (int round = 0; round < 20; ++round) {
    Client asks = client();
    asks.send_bytes(request_of(1, opcode_get, "", "key", "", 0));
  }
  Client asks = client();
  EXPECT_EQ(asks.set("key", "value")->code, 0);
  EXPECT_EQ(asks.get("key")->value, "value");
}

TEST_P(ServerTest, refuses_new_keys_in_a_full_bucket_and_keeps_the_old_ones) {
  start({.buckets = 1, .elements = 5});
  Client asks = client();
  for (int key = 0; key < 5; ++key) {
    EXPECT_EQ(asks.set("key" + std::to_string(key), std::to_string(key))->code, 0);
  }
  EXPECT_EQ(asks.set("one more", "x")->value, "Out of memory");
  EXPECT_EQ(asks.get("one more")->code, number_of(Code::not_found));
  EXPECT_EQ(asks.set("key3", "new")->code, 0);
  for (int key = 0; key < 5; ++key) {
    EXPECT_EQ(asks.get("key" + std::to_string(key))->value, key == 3 ? "new" : std::to_string(key));
  }
}

TEST_P(ServerTest, is_linearizable_under_concurrent_sets) {
  start({.buckets = 1, .elements = 8, .threads = 2});
  constexpr int clients = 4;
  constexpr int operations = 400;
  std::vector<std::vector<std::vector<Operation>>> histories(
      clients, std::vector<std::vector<Operation>>(2));
  std::vector<std::thread> threads;
  for (int number = 0; number < clients; ++number) {
    threads.emplace_back([&, number] {
      Client asks = client();
      asks.limit = Nanoseconds{10'000'000'000};
      std::mt19937 random(static_cast<unsigned>(number));
      for (int step = 0; step < operations; ++step) {
        const std::size_t key = random() % 2;
        Operation operation;
        operation.is_set = random() % 3 == 0;
        // Long, so that a torn read would show; no two are equal.
        const std::string value = std::string(900, static_cast<char>('a' + step % 26)) +
                                  std::to_string(number * operations + step);
        operation.begin = now().time_since_epoch().count();
        const auto answer = operation.is_set ? asks.set("key" + std::to_string(key), value)
                                             : asks.get("key" + std::to_string(key));
        operation.end = now().time_since_epoch().count();
        ASSERT_TRUE(answer) << answer.error().message;
        const bool found = answer->code == 0;
        operation.version = found ? answer->cas : 0;
        if (found) operation.value = operation.is_set ? value : answer->value;
        histories[static_cast<std::size_t>(number)][key].push_back(operation);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t key = 0; key < 2; ++key) {
    std::vector<Operation> history;
    for (const auto& each : histories) {
      history.insert(history.end(), each[key].begin(), each[key].end());
    }
    EXPECT_GT(history.size(), operations / 2u);
    EXPECT_EQ(contradiction_in(history), std::nullopt);
  }
}

TEST_P(ServerTest, serves_the_load_without_a_wrong_answer) {
  start();
  const auto result = make_load(
      {.port = server_->port(), .clients = 3, .keys = 200, .seconds = 0.1, .set_share = 0.2});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GT(result->requests, 0u);
  EXPECT_EQ(result->wrong, 0u);
  EXPECT_EQ(result->misses, 0u);
  EXPECT_EQ(result->latencies_us.size(), result->requests);
}

std::string name_of_way(const testing::TestParamInfo<By>& way) {
  return way.param == By::kernel     ? "by_kernel"
         : way.param == By::direct   ? "by_direct"
         : way.param == By::relaunch ? "by_relaunch"
                                     : "by_threads";
}
INSTANTIATE_TEST_SUITE_P(Each, ServerTest,
                         testing::Values(By::kernel, By::direct, By::relaunch, By::threads),
                         name_of_way);

TEST(Server, has_one_group_for_each_unit_that_serves_its_own_calls) {
  RuntimeConfig config = apps::small_device(2);
  EXPECT_EQ(Server::start({}, config).value()->groups(), 4u) << "a thread of the host serves";
  EXPECT_EQ(Server::start({.by = By::relaunch}, config).value()->groups(), 8u);
  EXPECT_EQ(Server::start({.by = By::direct}, config).value()->groups(), 2u)
      << "a call that waits holds the unit";
  config.device.rings = config.server.top_halves = 2;
  config.server.bottom_half = server::BottomHalfMode::on_unit;
  const auto server = Server::start({}, config);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(server.value()->groups(), 2u);
  auto client = Client::connect(server.value()->port());
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->set("key", "value")->code, 0);
  EXPECT_EQ(client->get("key")->value, "value");
}

TEST(Server, tells_a_port_that_is_taken) {
  const auto first = Server::start({.by = By::threads}, apps::small_device(2));
  ASSERT_TRUE(first);
  const std::uint32_t port = first.value()->port();
  const auto second = Server::start({.by = By::threads, .port = port}, apps::small_device(2));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "UDP port " + std::to_string(port) + " of 127.0.0.1: Address already in use");
}

TEST(Server, tells_a_launch_that_the_device_refuses) {
  for (const By by : {By::kernel, By::relaunch}) {
    auto server = Server::start({.by = by, .items = 1u << 20}, apps::small_device(2));
    ASSERT_TRUE(server);
    const Status stopped = server.value()->stop();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, EINVAL);
  }
}

TEST(Server, tells_a_load_without_a_server) {
  const auto server = Server::start({.by = By::threads}, apps::small_device(2));
  ASSERT_TRUE(server);
  const std::uint32_t port = server.value()->port();
  ASSERT_TRUE(server.value()->stop());
  auto asks = Client::connect(port);
  asks->limit = Nanoseconds{10'000'000};
  const auto answer = asks->get("key");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "no answer; is a server there?");
}

}  // namespace
}  // namespace k2k::memcached
