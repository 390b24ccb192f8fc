// Goal: k2k-memcached serves until a signal, in every way, and ends with its counters and status 0;
// a port that is taken and wrong options are told in one line. Method: runs the program beside the
// binary named by K2K_CLI, and the program as its client.

#include <nlohmann/json.hpp>

#include "tests/end_to_end/application.hpp"

namespace k2k::end_to_end::memcached_test {
namespace {

class Memcached : public Application {
 protected:
  Memcached() : Application("memcached", "memcached") {}

  // Serves on a port that Linux chooses, runs `client` with $port, and ends the server by a signal.
  [[nodiscard]] CommandOutcome while_serving(const std::string& options, const std::string& client,
                                             const std::string& signal = "INT") const {
    return in_folder("{ rm -f out; timeout --foreground 60 '" + program() + "' " + options +
                     " >out 2>err & server=$!; i=0; "
                     "while [ ! -s out ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done; "
                     "port=$(sed -n 's/serving UDP port \\([0-9]*\\) .*/\\1/p' out); " +
                     client + "; kill -" + signal +
                     " $server; wait $server; echo status $?; tail -n +2 out; cat err; }");
  }
};

TEST_F(Memcached, serves_until_a_signal_and_tells_its_counters) {
  for (const char* way : {"kernel", "relaunch", "threads"}) {
    for (const char* signal : {"INT", "TERM"}) {
      const CommandOutcome outcome = while_serving(
          std::string("--json --by ") + way,
          "'" + program() + "' --load -p $port --keys 50 --seconds 0.1 >load || echo failed",
          signal);
      const std::size_t object = outcome.out.find('{');
      ASSERT_NE(object, std::string::npos) << way << " " << outcome.out;
      EXPECT_EQ(outcome.out.substr(0, object), "status 0\n") << way;
      const auto counters = nlohmann::json::parse(outcome.out.substr(object), nullptr, false);
      ASSERT_TRUE(counters.is_object()) << outcome.out;
      EXPECT_GT(counters["gets"], 0) << way;
      EXPECT_EQ(counters["by"], way);
    }
  }
}

TEST_F(Memcached, serves_and_asks_in_one_process) {
  const CommandOutcome outcome = app("--json --load --keys 100 --seconds 0.1 --set-share 0.1");
  ASSERT_EQ(outcome.status, 0);
  const auto result = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_GT(result["requests"], 0);
  EXPECT_EQ(result["wrong"], 0);
  EXPECT_EQ(result["misses"], 0);
}

TEST_F(Memcached, tells_what_is_wrong_in_one_line) {
  const CommandOutcome taken =
      while_serving("--by threads", "'" + program() + "' -p $port 2>&1 >/dev/null; echo $?");
  EXPECT_NE(taken.out.find("k2k-memcached: UDP port "), std::string::npos) << taken.out;
  EXPECT_NE(taken.out.find(" of 127.0.0.1: Address already in use\n1\n"), std::string::npos)
      << taken.out;
  const CommandOutcome full =
      app("--load --by threads --buckets 1 --elements 4 --keys 5 2>&1 >/dev/null");
  EXPECT_EQ(full.status, 1);
  EXPECT_EQ(full.out, "k2k-memcached: the server refuses key 5 of 5: Out of memory\n");
  const CommandOutcome peer = app("--by memcached 2>&1 >/dev/null");
  EXPECT_EQ(peer.status, 2);
  EXPECT_EQ(peer.out, "k2k-memcached: --by memcached needs --load\n");
  EXPECT_EQ(app("--port 65536 2>/dev/null").status, 2);
  EXPECT_EQ(app("--load --value-bytes 1025 2>/dev/null").status, 2);
}

}  // namespace
}  // namespace k2k::end_to_end::memcached_test
