// Goal: for random requests the server's answers are those of memcached itself.
// Method: Debian's memcached as a process, both servers with the same sequence of requests. CAS
// numbers are each server's own, so they are compared by what they name. Requests that are wrong in
// themselves are left out: over UDP memcached 1.6.18 answers those only when another request comes.

#include "apps/memcached/peer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <random>

#include "apps/memcached/client.hpp"
#include "apps/memcached/server.hpp"

namespace k2k::memcached {
namespace {

// One answer of each, without the numbers that are each server's own.
struct Both {
  Client ours;
  Client theirs;
  std::map<std::string, std::uint64_t> our_cas{};
  std::map<std::string, std::uint64_t> their_cas{};

  void note(const std::string& key, const Answer& our, const Answer& their) {
    if (our.code != 0 || their.code != 0) return;
    if (our.opcode == opcode_set) {
      our_cas[key] = our.cas;
      their_cas[key] = their.cas;
    } else {
      EXPECT_EQ(our.cas, our_cas[key]);
      EXPECT_EQ(their.cas, their_cas[key]);
    }
  }
};

void expect_equal(const Result<Answer>& our, const Result<Answer>& their) {
  ASSERT_TRUE(our) << our.error().message;
  ASSERT_TRUE(their) << their.error().message;
  EXPECT_EQ(our->code, their->code);
  EXPECT_EQ(our->opcode, their->opcode);
  EXPECT_EQ(our->flags, their->flags);
  EXPECT_EQ(our->value, their->value);
}

void ask_both(Both& both, std::mt19937& random, int step) {
  const std::string key = "key" + std::to_string(random() % 40);
  const auto kind = static_cast<std::uint32_t>(random() % 10);
  const std::string value(random() % (value_bytes_max + 1), static_cast<char>('a' + step % 26));
  if (kind < 5) {
    const auto our = both.ours.get(key);
    const auto their = both.theirs.get(key);
    expect_equal(our, their);
    if (our && their) both.note(key, *our, *their);
  } else if (kind < 9) {
    const auto flags = static_cast<std::uint32_t>(random());
    const auto our = both.ours.set(key, value, flags);
    const auto their = both.theirs.set(key, value, flags);
    expect_equal(our, their);
    if (our && their) both.note(key, *our, *their);
  } else {
    // Compare and set, with the right number or a wrong one.
    const std::uint64_t off = random() % 2 * 1'000'000;
    const std::uint64_t our_cas = both.our_cas.count(key) != 0 ? both.our_cas[key] + off : 5;
    const std::uint64_t their_cas = both.their_cas.count(key) != 0 ? both.their_cas[key] + off : 5;
    const auto our = both.ours.set(key, value, 7, our_cas);
    const auto their = both.theirs.set(key, value, 7, their_cas);
    expect_equal(our, their);
    if (our && their) both.note(key, *our, *their);
  }
}

TEST(Peer, gives_the_same_answers_to_random_requests) {
  const std::uint32_t port = free_port();
  const Peer peer(port);
  if (!peer.runs()) GTEST_SKIP() << "memcached is not installed (Debian: memcached)";
  RuntimeConfig config;
  config.backend = "cpu";
  config.device.compute_units = 2;
  auto server = Server::start({.groups = 4, .items = 4}, config);
  ASSERT_TRUE(server) << server.error().message;
  auto ours = Client::connect(server.value()->port());
  auto theirs = Client::connect(port);
  ASSERT_TRUE(ours && theirs);
  Both both{std::move(ours).value(), std::move(theirs).value()};
  if (!peer.answers(both.theirs)) GTEST_SKIP() << "memcached answers no UDP datagram here";
  both.theirs.limit = both.ours.limit = Nanoseconds{10'000'000'000};
  std::mt19937 random(1);
  // PEER_REQUESTS=100000 for the long run.
  const char* const wanted = std::getenv("PEER_REQUESTS");
  const int steps = wanted != nullptr ? std::atoi(wanted) : 5000;
  for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    ask_both(both, random, step);
  }
}

}  // namespace
}  // namespace k2k::memcached
