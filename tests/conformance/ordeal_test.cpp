// Goal: forks at any moment, kills at any moment and exhausted memory cause no hang, no crash and
// no hole in a file. Method: child processes run kernels that read, append to a file, open and
// sleep. Other threads of these processes fork, use up all memory and cancel launches, and the test
// kills some of the processes. The events of each process are drawn from a seed, which is printed.
//
// K2K_ORDEAL_SECONDS sets the duration (1), K2K_ORDEAL_SEED repeats a run.

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <iostream>
#include <random>
#include <stop_token>

#include "base/clock.hpp"
#include "tests/conformance/all_memory.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::ordeal_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t page = 4096;
constexpr std::size_t record_bytes = 64;
constexpr std::uint32_t items = 32;
constexpr unsigned hang_s = 30;

enum Outcome { good, wrong_answer, not_served, not_well_again, lost_grandchild };

struct Plan {
  std::uint64_t seed = 0;
  bool forks = false;
  bool starves = false;
  bool cancels = false;
  bool splits = false;
  bool on_units = false;
  int kill_after_us = -1;  // -1: the process is not killed.
  int life_ms = 0;
};

Plan draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Plan plan{.seed = seed};
  plan.forks = random() % 2 == 0;
  plan.starves = random() % 3 == 0;
  plan.cancels = random() % 3 == 0;
  plan.splits = random() % 4 == 0;
  plan.on_units = !plan.splits && random() % 3 == 0;
  plan.kill_after_us = random() % 2 == 0 ? static_cast<int>(random() % 60'000) : -1;
  plan.life_ms = 5 + static_cast<int>(random() % 60);
  return plan;
}

std::ostream& operator<<(std::ostream& out, const Plan& plan) {
  return out << "K2K_ORDEAL_SEED=" << plan.seed << " (forks " << plan.forks << ", starves "
             << plan.starves << ", cancels " << plan.cancels << ", splits " << plan.splits
             << ", inline " << plan.on_units << ", killed after " << plan.kill_after_us
             << " us, lives " << plan.life_ms << " ms)";
}

class Ordeal : public testing::Test {
 protected:
  Ordeal() {
    ::unlink(log_.path.c_str());
    log_fd_ = ::open(log_.path.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd_ < 0) std::abort();
  }
  ~Ordeal() override { ::close(log_fd_); }

  static std::string text_of_data() {
    std::string text;
    for (std::uint32_t at = 0; at < items; ++at) text += std::string(page, letter(at));
    return text;
  }
  static char letter(std::uint32_t rank) { return static_cast<char>('A' + rank % 26); }

  // In the child.
  [[noreturn]] void live(const Plan& plan) const {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::alarm(hang_s);
    ::mallopt(M_ARENA_MAX, 1);
    RuntimeConfig config;
    config.device.compute_units = 2;
    config.device.resident_waves = 4;
    if (plan.splits) config.server.bottom_half = server::BottomHalfMode::split;
    if (plan.on_units) config.server.bottom_half = server::BottomHalfMode::on_unit;
    Result<Runtime> runtime = Runtime::create(config);
    if (!runtime) ::_exit(not_served);
    {
      std::vector<std::jthread> others;
      others.reserve(3);
      if (plan.forks) others.emplace_back([this](const std::stop_token& end) { fork_on(end); });
      if (plan.cancels) {
        others.emplace_back([&](const std::stop_token& end) { cancel_on(runtime.value(), end); });
      }
      if (plan.starves)
        others.emplace_back(starve_on);  // Started last, because a thread needs memory.
      const Instant end = now() + std::chrono::milliseconds(plan.life_ms);
      while (now() < end) launch(runtime.value(), true);
    }
    static_cast<void>(runtime->drain());
    if (!launch(runtime.value(), false)) ::_exit(not_well_again);
    runtime = Error{};
    ::_exit(good);
  }

  // Was the process served?
  bool launch(Runtime& runtime, bool in_distress) const {
    std::atomic<int> wrong{0};
    const auto expect = [&](long answer, long wanted) {
      const bool excused = in_distress && (answer == -ENOMEM || answer == -ECANCELED);
      if (answer != wanted && !excused) ++wrong;
      return answer == wanted;
    };
    const int data = data_.fd;
    const int log = log_fd_;
    const auto report = runtime.launch({2, items / 2}, [&] {
      const auto rank = static_cast<std::uint32_t>(k2k::global_rank());
      char text[page];
      for (int time = 0; time < 3; ++time) {
        if (expect(k2k::pread(k2k::work_item, data, text, page, rank * page), page)) {
          expect(text[0] == letter(rank) && text[page - 1] == letter(rank) ? 0 : 1, 0);
        }
      }
      char record[record_bytes];
      __builtin_memset(record, letter(rank), sizeof(record));
      expect(k2k::write(k2k::work_item, log, record, sizeof(record)), sizeof(record));
      const timespec moment{0, 20'000};
      expect(k2k::nanosleep(k2k::work_item, &moment, nullptr), 0);
      const Reply opened = k2k::open(k2k::work_item, data_.path.c_str(), O_RDONLY | O_CLOEXEC);
      if (opened.ok()) {
        expect(k2k::close(k2k::work_item, opened.fd()), 0);
      } else {
        expect(opened.value(), 0);
      }
    });
    if (wrong.load() != 0) ::_exit(wrong_answer);
    return report.ok();
  }

  void fork_on(const std::stop_token& end) const {
    while (!end.stop_requested()) {
      const pid_t child = ::fork();
      if (child < 0) continue;  // No memory.
      if (child == 0) {
        ::alarm(hang_s);
        char text[page];
        const bool right = ::pread(data_.fd, text, page, page) == page && text[7] == letter(1);
        ::_exit(right ? good : wrong_answer);
      }
      int status = 0;
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      if (status != 0) ::_exit(lost_grandchild);
    }
  }
  static void starve_on(const std::stop_token& end) {
    while (!end.stop_requested()) {
      {
        const AllMemory all;
        std::this_thread::sleep_for(1ms);
      }
      std::this_thread::sleep_for(2ms);
    }
  }
  static void cancel_on(Runtime& runtime, const std::stop_token& end) {
    while (!end.stop_requested()) {
      std::this_thread::sleep_for(700us);
      runtime.cancel();
    }
  }

  void undergo(const Plan& plan) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) live(plan);
    if (plan.kill_after_us >= 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(plan.kill_after_us));
      ::kill(child, SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
      EXPECT_NE(WTERMSIG(status), SIGALRM) << "it hung";
      EXPECT_EQ(WTERMSIG(status), plan.kill_after_us >= 0 ? SIGKILL : 0) << "it crashed";
    } else {
      EXPECT_EQ(WEXITSTATUS(status), good);
    }
  }

  // Whole records, each of one letter.
  void expect_no_hole() const {
    std::vector<char> text(static_cast<std::size_t>(::lseek(log_fd_, 0, SEEK_END)));
    ASSERT_EQ(::pread(log_fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(text.size() % record_bytes, 0u);
    std::size_t broken = 0;
    for (std::size_t at = 0; at + record_bytes <= text.size(); at += record_bytes) {
      const char* const record = text.data() + at;
      bool whole = record[0] >= 'A' && record[0] <= 'Z';
      for (std::size_t byte = 1; byte < record_bytes; ++byte) {
        whole = whole && record[byte] == record[0];
      }
      broken += whole ? 0 : 1;
    }
    EXPECT_EQ(broken, 0u) << "of " << text.size() / record_bytes << " records";
    ASSERT_EQ(::ftruncate(log_fd_, 0), 0);
  }

  const TemporaryFile data_{text_of_data()};
  const TemporaryFile log_;
  int log_fd_ = -1;
};

TEST_F(Ordeal, of_forks_kills_and_used_up_memory_is_survived) {
#if defined(K2K_TSAN) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer needs an address space without limits";
#endif
  const char* const wanted = std::getenv("K2K_ORDEAL_SEED");
  if (wanted != nullptr) {
    const Plan plan = draw(std::strtoull(wanted, nullptr, 10));
    SCOPED_TRACE(testing::Message() << plan);
    undergo(plan);
    expect_no_hole();
    return;
  }
  const char* const seconds = std::getenv("K2K_ORDEAL_SECONDS");
  const Instant end = now() + std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 1);
  std::random_device entropy;
  std::uint64_t seed = std::uint64_t{entropy()} << 20;
  int lives = 0;
  for (; now() < end && !HasFailure(); ++lives, ++seed) {
    const Plan plan = draw(seed);
    SCOPED_TRACE(testing::Message() << plan);
    undergo(plan);
    expect_no_hole();
  }
  std::cout << lives << " processes, the last of K2K_ORDEAL_SEED=" << seed - 1 << "\n";
}

}  // namespace
}  // namespace k2k::conformance::ordeal_test
