// Goal: signals, direct signals and one launch give the digests of the serial search, for any
// shape; with a full signal queue, or none at all, no block is lost; stray signals do no harm.
// Method: limits of the process (RLIMIT_SIGPENDING), and signals that the test itself sends.

#include "apps/signal_search/search.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

#include "apps/common/small_device_fixture.hpp"
#include "apps/signal_search/direct.hpp"
#include "apps/signal_search/table.hpp"

namespace k2k::signal_search {
namespace {

// Lowers the limit of pending signals for a scope.
class PendingLimit {
 public:
  explicit PendingLimit(rlim_t limit) {
    ::getrlimit(RLIMIT_SIGPENDING, &before_);
    const rlimit lowered{limit, before_.rlim_max};
    set_ = ::setrlimit(RLIMIT_SIGPENDING, &lowered) == 0;
  }
  ~PendingLimit() { ::setrlimit(RLIMIT_SIGPENDING, &before_); }
  PendingLimit(const PendingLimit&) = delete;
  PendingLimit& operator=(const PendingLimit&) = delete;
  [[nodiscard]] bool is_set() const { return set_; }

 private:
  rlimit before_{};
  bool set_ = false;
};

// The user's signals that are pending now, of all processes.
rlim_t pending() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigQ:")) return std::stoul(line.substr(5));
  }
  return 0;
}

class Search : public testing::Test {
 protected:
  static constexpr TableSizes sizes{.records = 5000, .queries = 30011, .seed = 3};

  [[nodiscard]] Outcome run(Settings settings) const {
    auto outcome = search(records_, queries_, settings, apps::small_device(2));
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : Outcome();
  }

  const std::vector<Record> records_ = make_records(sizes);
  const std::vector<std::uint64_t> queries_ = make_queries(sizes);
};

TEST_F(Search, gives_the_serial_digests_in_every_way_and_shape) {
  for (const std::uint32_t block : {1000u, 4096u, 65536u}) {
    const Outcome right = run({.by = By::serial, .block_queries = block});
    EXPECT_EQ(right.digests.size(), (30011 + block - 1) / block);
    for (const By by : {By::signals, By::direct, By::launch}) {
      for (const std::uint32_t items : {1u, 7u}) {
        const Outcome outcome =
            run({.by = by, .groups = 5, .items = items, .threads = 3, .block_queries = block});
        EXPECT_EQ(outcome.digests, right.digests) << static_cast<int>(by);
        EXPECT_EQ(outcome.signalled + outcome.swept, right.digests.size());
        EXPECT_EQ(outcome.strays, 0u);
      }
    }
  }
}

TEST_F(Search, hashes_every_block_by_its_signal_if_the_queue_has_room) {
  const Outcome outcome = run({.by = By::signals, .threads = 2, .block_queries = 100});
  if (outcome.credits < 2) GTEST_SKIP() << "other programs of the user hold the signal queue";
  EXPECT_EQ(outcome.signalled, 301u);
  EXPECT_EQ(outcome.swept, 0u);
}

TEST_F(Search, loses_no_block_with_a_full_signal_queue) {
  const Outcome right = run({.by = By::serial, .block_queries = 200});
  for (const rlim_t room : {1, 5}) {
    const rlim_t limit = pending() + room;
    const PendingLimit lowered(limit);
    ASSERT_TRUE(lowered.is_set());
    for (const By by : {By::signals, By::direct}) {
      const Outcome outcome = run({.by = by, .threads = 1, .block_queries = 200});
      EXPECT_EQ(outcome.digests, right.digests) << limit;
      EXPECT_EQ(outcome.credits, limit / 2);
      EXPECT_EQ(outcome.signalled + outcome.swept, right.digests.size());
      // Unless others hold the queue.
      EXPECT_TRUE(outcome.signalled > 0 || pending() >= limit);
    }
  }
}

TEST_F(Search, loses_no_block_if_no_signal_can_be_queued) {
  const Outcome right = run({.by = By::serial, .block_queries = 500});
  const PendingLimit lowered(0);
  ASSERT_TRUE(lowered.is_set());
  for (const By by : {By::signals, By::direct}) {
    const Outcome outcome = run({.by = by, .threads = 2, .block_queries = 500, .tries = 3});
    EXPECT_EQ(outcome.digests, right.digests);
    EXPECT_EQ(outcome.signalled, 0u);
    EXPECT_EQ(outcome.swept, right.digests.size());
    EXPECT_GE(outcome.retries, right.digests.size());      // Each is tried once,
    EXPECT_LE(outcome.retries, 3 * right.digests.size());  // and none more often than permitted.
  }
}

TEST_F(Search, tells_a_launch_that_the_device_refuses) {
  for (const By by : {By::signals, By::launch}) {
    const auto outcome =
        search(records_, queries_, {.by = by, .items = 1u << 20}, apps::small_device(2));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, EINVAL);
  }
}

TEST_F(Search, believes_no_signal_that_names_no_ready_block) {
  std::vector<std::uint32_t> ready = {1, 0};
  std::uint32_t taken = 0;
  std::vector<Record> results(2);
  Job job;
  job.results = results.data();
  job.ready = ready.data();
  job.taken = &taken;
  job.block_queries = 1;
  job.query_count = 2;
  job.blocks = 2;
  job.process = ::getpid();
  job.number = SIGRTMAX - 4;
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, job.number);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  {
    Hashers hashers(job);
    QueuedSignal signal{};
    signal.number = job.number;
    signal.code = SI_QUEUE;
    signal.process = job.process;
    // Ready, twice; not ready; no block; one from elsewhere.
    for (const std::uint64_t value : {0ull, 0ull, 1ull, 2ull, ~0ull}) {
      signal.value = value;
      ASSERT_EQ(queue_signal(job.process, job.number, signal), 0);
    }
    signal.value = 0;
    signal.process = 1;
    ASSERT_EQ(queue_signal(job.process, job.number, signal), 0);
    ASSERT_TRUE(hashers.hash_all(1));
    EXPECT_EQ(hashers.signalled(), 1u);
    EXPECT_EQ(hashers.swept(), 1u);
    EXPECT_EQ(hashers.strays(), 4u);
    EXPECT_EQ(taken, 2u);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace k2k::signal_search
