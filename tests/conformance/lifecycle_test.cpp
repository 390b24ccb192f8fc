// Goal: a runtime is a good guest of its process: it refuses impossible requests, gives the reason,
// and never keeps the host program from changing, forking, ending or dying.

#include <sched.h>
#include <sys/wait.h>

#include <csignal>
#include <optional>
#include <stdexcept>

#include "base/clock.hpp"
#include "tests/conformance/busy_share.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::lifecycle_test {
namespace {

class Lifecycle : public DeviceUnderTest {
 protected:
  // A kernel that reports to the host that it runs, and then waits for ever.
  struct Stuck {
    const Pair& started;
    const Pair& never;
    void operator()() const {
      char letter = 's';
      k2k::write(k2k::work_item, started.out(), &letter, 1);
      k2k::read(k2k::work_item, never.in(), &letter, 1);
    }
  };
};
K2K_EVERY_DEVICE(Lifecycle);

std::uint32_t some_core() {
  cpu_set_t cores;
  sched_getaffinity(0, sizeof(cores), &cores);
  std::uint32_t core = 0;
  while (!CPU_ISSET(core, &cores)) ++core;
  return core;
}

TEST_P(Lifecycle, a_launch_of_an_impossible_shape_is_refused_with_the_limit) {
  Runtime runtime = start();
  const auto nothing = [] {};
  for (const LaunchShape& shape : {LaunchShape{0, 1}, LaunchShape{1, 0},
                                   LaunchShape{1, runtime.device().group_items_max + 1}}) {
    const Result<LaunchReport> report = runtime.launch(shape, nothing, "shapeless");
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, EINVAL);
    EXPECT_NE(report.error().message.find("shapeless"), std::string::npos);
  }
  EXPECT_NE(runtime.launch({1, runtime.device().group_items_max + 1}, nothing)
                .error()
                .message.find(std::to_string(runtime.device().group_items_max)),
            std::string::npos);
  EXPECT_TRUE(runtime.launch({1, runtime.device().group_items_max}, nothing).ok());
}

TEST_P(Lifecycle, a_kernel_of_another_version_is_refused_and_both_are_named) {
  Runtime runtime = start();
  backend::KernelImage image;
  image.entry = [](const void*) {};
  image.name = "stranger";
  image.protocol_version = 4242;
  Result<LaunchReport> report = runtime.launch_image({1, 1}, image);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, EPROTO);
  for (const std::string& part :
       {std::string("'stranger'"), std::string("protocol 4242"),
        "protocol " + std::to_string(protocol::version), std::string("recompile")}) {
    EXPECT_NE(report.error().message.find(part), std::string::npos) << report.error().message;
  }
  image.protocol_version = protocol::version;
  image.layout_hash ^= 1;
  report = runtime.launch_image({1, 1}, image);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, EPROTO);
}

TEST_P(Lifecycle, an_unknown_backend_is_refused_with_the_known_backends) {
  RuntimeConfig config = config_of(GetParam());
  config.backend = "abacus";
  const Result<Runtime> runtime = Runtime::create(config);
  ASSERT_FALSE(runtime.ok());
  EXPECT_EQ(runtime.error().code, ENODEV);
  EXPECT_NE(runtime.error().message.find("abacus"), std::string::npos);
  for (const std::string& name : Runtime::backends()) {
    EXPECT_NE(runtime.error().message.find(name), std::string::npos);
  }
}

TEST_P(Lifecycle, a_server_that_must_poll_sleeps_while_no_kernel_runs) {
  using namespace std::chrono_literals;
  Runtime runtime =
      start([](RuntimeConfig& config) { config.server.notify = server::Notify::polling; });
  for (int round = 0; round < 3; ++round) {
    std::atomic<std::uint32_t> right{0};
    launch(runtime, 2, 8, [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); });
    EXPECT_EQ(right.load(), 16u);
    std::this_thread::sleep_for(20ms);  // The server's last spin and naps.
    const std::uint64_t before = runtime.stats().parks;
    std::this_thread::sleep_for(200ms);
    // A server that naps would have looked 150 times or more.
    EXPECT_LE(runtime.stats().parks - before, 20u);
  }
}

// Backpressure: the device stalls with its slots full, and everything is answered in the end.
TEST_P(Lifecycle, a_cap_delays_requests_and_loses_none) {
  Runtime runtime = start([](RuntimeConfig& config) { config.server.cap_permille = 100; });
  const TemporaryFile file("0123456789");
  std::atomic<std::uint64_t> right{0};
  const double before = runtime.stats().thread_seconds;
  const Instant begin = now();
  launch(runtime, 8, 32, [&] {
    for (std::uint32_t call = 0; call < scaled(4, 1); ++call) {
      char letter = 0;
      right += k2k::pread(k2k::work_item, file.fd, &letter, 1, 7) == 1 && letter == '7';
      right += k2k::nop(k2k::work_item, k2k::wave_wide) == 0;
      right += k2k::pwrite(k2k::work_item, k2k::detached, file.fd, "7", 1, 7) == 0;
    }
  });
  EXPECT_TRUE(runtime.drain().value().empty());
  EXPECT_EQ(right.load(), 256u * 3 * scaled(4, 1));
  const server::Stats stats = runtime.stats();
  EXPECT_EQ(stats.in_flight, 0u);
  EXPECT_DOUBLE_EQ(stats.governor.cap, 0.1);
  const double elapsed = std::chrono::duration<double>(now() - begin).count();
  const double share =
      (stats.thread_seconds - before) / elapsed / std::thread::hardware_concurrency();
  // The initial burst weighs more in a shorter run.
  EXPECT_LT(share, 0.1 * 1.3 + 0.005 / elapsed);
}

// No thread is charged for their CPU time, so a service thread's waiting time for them counts.
TEST_P(Lifecycle, a_cap_counts_the_kernel_threads_behind_fsync) {
  constexpr std::uint32_t cap_permille = 200;  // The test takes the charged time divided by it.
  Runtime runtime = start([](RuntimeConfig& config) { config.server.cap_permille = cap_permille; });
  const TemporaryFile file("0123456789");
  const server::Stats before = runtime.stats();
  std::atomic<std::uint64_t> right{0};
  const Instant begin = now();
  const std::uint32_t rounds = scaled(200, 20);
  launch(runtime, 2, 4, [&] {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      right += k2k::pwrite(k2k::work_item, file.fd, "7", 1, 7) == 1;
      right += k2k::fsync(k2k::work_item, file.fd) == 0;
      right +=
          k2k::syscall(k2k::work_item, k2k::strong, SYS_sync_file_range, file.fd, 0, 0, 7) == 0;
    }
  });
  EXPECT_EQ(right.load(), std::uint64_t{8} * 3 * rounds);
  const double elapsed = std::chrono::duration<double>(now() - begin).count();
  const server::Stats stats = runtime.stats();
  const double waited =
      stats.governor.kernel_thread_seconds - before.governor.kernel_thread_seconds;
  EXPECT_GT(waited, 0);
  const double share = (stats.thread_seconds - before.thread_seconds + waited) / elapsed /
                       std::thread::hardware_concurrency();
  EXPECT_LT(share, cap_permille * 0.0013 + 0.1 / elapsed) << waited << " s of " << elapsed;
}

TEST_P(Lifecycle, a_cap_gives_way_to_the_end) {
  const TemporaryFile file;
  {
    Runtime runtime = start([](RuntimeConfig& config) {
      // Behind a stage, the wake-ups of three threads spend most of a smaller cap.
      config.server.cap_permille = GetParam().staged ? 10 : 1;
      config.server.shutdown_ms = 20'000;
    });
    launch(runtime, 4, 32, [&] {
      k2k::pwrite(k2k::work_item, k2k::detached, file.fd, "x", 1,
                  static_cast<std::int64_t>(global_rank()));
    });
  }
  EXPECT_EQ(file.content(), std::string(128, 'x'));
}

TEST_P(Lifecycle, it_can_be_reconfigured_under_load_without_losing_a_request) {
  Runtime runtime = start([](RuntimeConfig& config) { config.device.rings = 2; });
  const TemporaryFile file("0123456789");
  const Pair pipe;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> wrong{0};
  std::thread load([&] {
    while (!stop.load()) {
      const Result<LaunchReport> report = runtime.launch({8, 16}, [&] {
        char letter = 0;
        wrong += k2k::getpid(k2k::work_item) != ::getpid();
        wrong += k2k::pread(k2k::work_item, file.fd, &letter, 1, 7) != 1 || letter != '7';
        wrong += k2k::getpid(k2k::work_group, k2k::halting) != ::getpid();
        // Work-item 0 waits for work-item 1 across reconfigurations of the server.
        if (global_rank() == 0) {
          wrong += k2k::read(k2k::work_item, pipe.in(), &letter, 1) != 1;
        } else if (global_rank() == 1) {
          wrong += k2k::write(k2k::work_item, pipe.out(), "p", 1) != 1;
        }
        made += 2;
      });
      wrong += report.ok() ? 0u : 1u;
    }
  });
  std::uint64_t rounds = 0;
  for (std::uint32_t round = 0; round < scaled(3, 1); ++round) {
    for (std::uint32_t combination = 0; combination < 16; ++combination) {
      server::ServerConfig config = runtime.server_config();
      config.steering =
          (combination & 1) != 0 ? server::Steering::steered : server::Steering::spread;
      config.cores = {some_core()};
      config.coalesce_window_us = (combination & 2) != 0 ? 20 : 0;
      config.coalescing = (combination & 2) != 0 && round % 3 == 1 ? server::Coalescing::adaptive
                                                                   : server::Coalescing::fixed;
      config.bottom_half = (combination & 4) == 0           ? server::BottomHalfMode::monolithic
                           : (combination + round) % 3 == 0 ? server::BottomHalfMode::split
                                                            : server::BottomHalfMode::staged;
      config.worker_cores = {some_core()};
      const bool fixed = config.coalesce_window_us == 0;
      if ((combination & 4) != 0 && fixed && round % 2 == 0 && GetParam().backend == "cpu") {
        config.bottom_half = server::BottomHalfMode::on_unit;
      }
      config.top_halves = (combination & 8) != 0 ? 2 : 1;
      constexpr std::uint32_t caps[] = {0, 500, 250, 100};
      config.cap_permille = caps[(combination + round) % 4];
      constexpr governor::Policy policies[] = {
          governor::Policy::budget, governor::Policy::automatic, governor::Policy::backoff,
          governor::Policy::displaced};
      config.governor = policies[(combination / 2 + round) % 4];
      config.loss_max_permille = 250;
      config.tenants = combination % 3 == 1 ? "0:weight=2 1:weight=1" : "";
      const std::uint64_t before = made.load();
      Status status = runtime.reconfigure(config);
      if (!status && status.error().message.find("which cores are idle") != std::string::npos) {
        config.governor = governor::Policy::budget;  // This process sees only some of the cores.
        status = runtime.reconfigure(config);
      }
      ASSERT_TRUE(status.ok()) << status.error().message;
      ++rounds;
      while (made.load() < before + 64) std::this_thread::yield();  // Each serves requests.
    }
  }
  server::ServerConfig wrong_config = runtime.server_config();
  wrong_config.top_halves = 3;
  EXPECT_EQ(runtime.reconfigure(wrong_config).error().code, EINVAL);
  EXPECT_EQ(runtime.server_config().top_halves, 2u) << "nothing changed";
  stop = true;
  load.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_TRUE(runtime.drain().ok());
  EXPECT_EQ(runtime.stats().in_flight, 0u);
}

TEST_P(Lifecycle, two_runtimes_live_side_by_side) {
  Runtime first = start();
  Runtime second = start([](RuntimeConfig& config) { config.device.wave_lanes = 64; });
  std::atomic<int> right{0};
  const auto body = [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); };
  std::thread other([&] { launch(first, 4, 32, body); });
  launch(second, 4, 64, body);
  other.join();
  EXPECT_EQ(right.load(), 4 * 96);
  EXPECT_EQ(first.stats().requests, 128u);
  EXPECT_EQ(second.stats().requests, 256u);
}

TEST_P(Lifecycle, launches_from_several_threads_run_one_after_the_other) {
  Runtime runtime = start();
  std::atomic<int> running{0};
  std::atomic<int> together{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int times = 0; times < 5; ++times) {
        launch(runtime, 1, 1, [&] {
          together += running++ == 0 ? 0 : 1;
          k2k::getpid(k2k::work_item);
          --running;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together.load(), 0);
}

TEST_P(Lifecycle, a_runtime_can_be_moved_and_replaced) {
  Runtime runtime = start();
  Runtime moved = std::move(runtime);
  std::atomic<int> right{0};
  const auto body = [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); };
  launch(moved, 1, 8, body);
  moved = start();
  launch(moved, 1, 8, body);
  EXPECT_EQ(right.load(), 16);
}

TEST_P(Lifecycle, a_cancelled_launch_ends_and_the_next_one_runs) {
  Runtime runtime = start();
  const Pair started;
  const Pair never;
  std::thread host([&] {
    EXPECT_EQ(read_all(started.in(), 16).size(), 16u);
    runtime.cancel();
  });
  const Result<LaunchReport> report = runtime.launch({2, 8}, Stuck{started, never}, "stuck");
  host.join();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ECANCELED);
  EXPECT_TRUE(runtime.drain().ok());
  std::atomic<int> right{0};
  launch(runtime, 8, 32, [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); });
  EXPECT_EQ(right.load(), 256);
}

// Work-items that were cancelled between their ticket and their doorbell never ring.
TEST_P(Lifecycle, a_cancelled_launch_leaves_no_service_thread_busy) {
  using namespace std::chrono_literals;
  Runtime runtime = start([](RuntimeConfig& config) { config.device.wave_lanes = 64; });
  for (int round = 0; round < 4; ++round) {
    server::ServerConfig config = runtime.server_config();
    config.notify = round < 2 ? server::Notify::interrupt : server::Notify::polling;
    ASSERT_TRUE(runtime.reconfigure(config).ok());
    std::atomic<bool> begun{false};
    std::thread host([&] {
      begun.wait(false);  // A cancel before the launch has no effect.
      std::this_thread::sleep_for(20ms);
      runtime.cancel();
    });
    const Result<LaunchReport> report = runtime.launch(
        {64, 64},
        [&] {
          if (global_rank() == 0) {
            begun = true;
            begun.notify_one();
          }
          while (true) k2k::getpid(k2k::work_item);
        },
        "endless");
    host.join();
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ECANCELED);
    std::this_thread::sleep_for(50ms);  // The last spin of the polling thread.
    EXPECT_LT(busy_share(300ms), 0.25);
    std::atomic<std::uint32_t> right{0};
    launch(runtime, 4, 64, [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); });
    EXPECT_EQ(right.load(), 256u);
  }
}

TEST_P(Lifecycle, a_launch_that_fails_does_not_wait_for_peers_of_its_calls) {
  Runtime runtime = start();
  const Pair never;
  const auto kernel = [&] {
    char letter = 0;
    if (item_rank() == 0) throw std::runtime_error("planted");
    k2k::read(k2k::work_item, never.in(), &letter, 1);
  };
  const Result<LaunchReport> report = runtime.launch({1, 8}, kernel, "failing");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, EIO);
  EXPECT_TRUE(runtime.drain().ok());
}

TEST_P(Lifecycle, a_cancelled_launch_leaves_earlier_detached_calls_alone) {
  Runtime runtime = start();
  const Pair later;
  std::vector<char> text(8);
  launch(runtime, 1, 1,
         [&] { k2k::read(k2k::work_item, k2k::detached, later.in(), text.data(), 8); });
  const Pair started;
  const Pair never;
  std::thread host([&] {
    EXPECT_EQ(read_all(started.in(), 16).size(), 16u);
    runtime.cancel();
  });
  EXPECT_FALSE(runtime.launch({2, 8}, Stuck{started, never}, "stuck").ok());
  host.join();
  ASSERT_EQ(::write(later.out(), "detached", 8), 8);
  EXPECT_TRUE(runtime.drain().ok());
  EXPECT_EQ(std::string(text.data(), 8), "detached");
}

TEST_P(Lifecycle, it_ends_while_a_detached_call_still_waits) {
  const Pair never;
  std::vector<char> text(8);
  {
    std::optional<Runtime> runtime(start());
    launch(*runtime, 1, 20, [&] {  // The calls outnumber the service threads.
      k2k::read(k2k::work_item, k2k::detached, never.in(), text.data(), 8);
    });
    runtime.reset();
  }
  ASSERT_EQ(::write(never.out(), "x", 1), 1);
  EXPECT_EQ(read_all(never.in(), 1), "x") << "no reader is left";
}

// --- Events of the process.

TEST_P(Lifecycle, a_forked_child_gets_errors_and_the_parent_goes_on) {
  Runtime runtime = start();
  std::atomic<int> right{0};
  const auto body = [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); };
  launch(runtime, 1, 8, body);
  const int status = status_of_child([&] {
    const Result<LaunchReport> launched = runtime.launch({1, 1}, body);
    if (launched.ok() || launched.error().code != EPERM) ::_exit(11);
    const auto drained = runtime.drain();
    if (drained.ok() || drained.error().code != EPERM) ::_exit(12);
    if (runtime.allocate(64).ok()) ::_exit(13);
    if (runtime.reconfigure({}).ok()) ::_exit(14);
    // Not those of the parent, whose threads may be settling their CPU time: nobody would end that.
    if (runtime.stats().requests != 0) ::_exit(15);
    static_cast<void>(runtime.server_config());
    runtime.cancel();
    {
      const Runtime ended = std::move(runtime);
    }
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  launch(runtime, 1, 8, body);
  EXPECT_EQ(right.load(), 16);
  EXPECT_TRUE(runtime.drain().ok());
}

TEST_P(Lifecycle, an_abort_in_mid_flight_ends_the_process_at_once) {
  const int status = status_of_child([this] {
    const Pair started;
    const Pair never;
    Runtime runtime = start();
    std::thread host([&] {
      read_all(started.in(), 8);
      std::abort();
    });
    static_cast<void>(runtime.launch({1, 8}, Stuck{started, never}, "stuck"));
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

TEST_P(Lifecycle, an_interrupt_ends_the_process_at_once) {
  const Pair started;
  const int status = status_of_child([&] {
    const Pair never;
    Runtime runtime = start();
    std::thread host([&] {
      read_all(started.in(), 8);
      ::kill(::getpid(), SIGINT);  // As a terminal would.
    });
    static_cast<void>(runtime.launch({1, 8}, Stuck{started, never}, "stuck"));
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

}  // namespace
}  // namespace k2k::conformance::lifecycle_test
