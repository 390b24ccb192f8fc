// Goal: a runtime keeps the host's limit, whether the limit or the runtime came first; runtimes
// share one limit, and the others receive the part of a killed runtime.
// Method: several Admissions under a folder of the test (K2K_HOST_DIR), in this process and in
// forked processes. The test compares their CPU clocks with each other, because this machine may be
// busy.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "base/clock.hpp"
#include "host/place_fixture.hpp"
#include "server/govern/admission.hpp"
#include "server/govern/burn_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

// Of all threads: a runtime's CPU time includes the limit keeper's looks.
Nanoseconds process_time() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

double cores() { return static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)); }

class AdmissionUnderHostLimit : public testing::Test {
 protected:
  void SetUp() override {
    if (::access("/run/k2k/limit", F_OK) == 0) {
      GTEST_SKIP() << "this machine has a limit (/run/k2k), which outranks the test's";
    }
    ::setenv("K2K_HOST_DIR", place_.path().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("K2K_HOST_DIR"); }

  void limit(double fraction) {
    const Status status = host::write_limit(place_.place(), fraction);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  // Serves requests until there is a cap, or until there is none. Returns false if that never
  // happened.
  static bool served_until(Admission& admission, bool governed) {
    ServiceAccount account;
    const Instant begin = now();
    while (admission.governed() != governed && now() - begin < 20s) admission.pass(account, 1);
    return admission.governed() == governed;
  }

  host::TemporaryPlace place_;
};

TEST_F(AdmissionUnderHostLimit, is_governed_without_a_cap_of_its_own) {
  limit(0.1);
  Admission admission;
  ASSERT_TRUE(admission.configure({}).ok());
  EXPECT_TRUE(admission.governed());
  const GovernorStats stats = admission.stats();
  EXPECT_DOUBLE_EQ(stats.cap, 0.1);
  EXPECT_DOUBLE_EQ(stats.host_limit, 0.1);
  EXPECT_DOUBLE_EQ(stats.host_part, 0.1);
  EXPECT_EQ(stats.host_holders, 1u);
}

TEST_F(AdmissionUnderHostLimit, may_take_less_but_not_more) {
  limit(0.1);
  Admission admission;
  ServerConfig config;
  config.cap_permille = 30;
  ASSERT_TRUE(admission.configure(config).ok());
  EXPECT_DOUBLE_EQ(admission.stats().cap, 0.03);
  EXPECT_DOUBLE_EQ(admission.stats().host_part, 0.03);
  config.cap_permille = 900;
  ASSERT_TRUE(admission.configure(config).ok());
  EXPECT_LE(admission.stats().cap, 0.1);
}

TEST_F(AdmissionUnderHostLimit, heeds_a_limit_that_comes_while_it_serves_and_goes) {
  Admission admission;
  ASSERT_TRUE(admission.configure({}).ok());
  EXPECT_FALSE(admission.governed());
  limit(0.5);
  ASSERT_TRUE(served_until(admission, true));
  EXPECT_DOUBLE_EQ(admission.stats().cap, 0.5);
  ASSERT_TRUE(host::remove_limit(place_.place()).ok());
  ASSERT_TRUE(served_until(admission, false));
  EXPECT_EQ(admission.stats().host_limit, 0);
}

TEST_F(AdmissionUnderHostLimit, gives_its_part_back_when_it_ends) {
  limit(0.1);
  {
    Admission admission;
    ASSERT_TRUE(admission.configure({}).ok());
    EXPECT_EQ(host::list_holders(place_.place()).value().list.size(), 1u);
  }
  EXPECT_TRUE(host::list_holders(place_.place()).value().list.empty());
}

TEST_F(AdmissionUnderHostLimit, does_not_start_where_the_limit_cannot_be_believed) {
  limit(0.1);
  ASSERT_EQ(::chmod(place_.path().c_str(), 0777), 0);
  Admission admission;
  const Status status = admission.configure({});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "host limit: " + place_.path() +
                " has mode 0777, so others could replace what lies in it; sudo chmod 0755 " +
                place_.path());
}

// The published rule consumes 3.8 % under a cap of 1 % (docs/design/governor.md).
TEST_F(AdmissionUnderHostLimit, keeps_a_limit_by_the_budget_whatever_rule_was_chosen) {
  limit(0.01);
  Admission admission;
  ServerConfig config;
  config.governor = governor::Policy::backoff;
  ASSERT_TRUE(admission.configure(config).ok());
  ServiceAccount account;
  const Instant begin = now();
  const Nanoseconds used = thread_time();
  while (now() - begin < 600ms) {
    admission.pass(account, 1);
    burn(50us);
  }
  const Nanoseconds elapsed = now() - begin;
  EXPECT_LT(static_cast<double>((thread_time() - used).count()),
            0.02 * cores() * static_cast<double>(elapsed.count()));
}

// Forked processes report to the test the CPU time that they have spent.
struct Told {
  std::atomic<std::int64_t> used_ns[2];
};

class Telling {
 public:
  Telling()
      : told_(static_cast<Told*>(::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Telling() { ::munmap(told_, sizeof(Told)); }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  [[nodiscard]] double used_ms(int process) const {
    return static_cast<double>(told_->used_ns[process].load()) / 1e6;
  }
  // For the forked process: serves requests of 50 us until it is killed.
  void serve(int process) const {
    Admission admission;
    if (!admission.configure({}).ok()) ::_exit(1);
    ServiceAccount account;
    while (true) {
      admission.pass(account, 1);
      burn(50us);
      told_->used_ns[process].store(process_time().count());
    }
  }

 private:
  Told* told_;
};

// A forked process that serves until it is killed.
class Runtime : public host::Child {
 public:
  // As `user`, 0 for the caller's.
  Runtime(const Telling& telling, int process, uid_t user = 0) {
    if (number() != 0) return;
    if (user != 0 && !host::become(user)) ::_exit(1);
    telling.serve(process);
  }
};

TEST_F(AdmissionUnderHostLimit, shares_the_limit_with_other_processes_and_inherits_from_the_dead) {
  limit(0.1);
  const Telling telling;
  Runtime one(telling, 0);
  Runtime other(telling, 1);
  while (telling.used_ms(0) == 0 || telling.used_ms(1) == 0) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(400ms);  // Each has seen the other and spent its first budget.

  struct Window {
    Instant begin = now();
    double one, other;
  };
  Window both{now(), telling.used_ms(0), telling.used_ms(1)};
  std::this_thread::sleep_for(700ms);
  const double elapsed_ms = static_cast<double>((now() - both.begin).count()) / 1e6;
  const double of_one = telling.used_ms(0) - both.one;
  const double of_other = telling.used_ms(1) - both.other;
  EXPECT_LT(of_one + of_other, 1.4 * 0.1 * cores() * elapsed_ms);
  EXPECT_GT(of_one, 0.25 * (of_one + of_other));
  EXPECT_GT(of_other, 0.25 * (of_one + of_other));

  other.kill();
  std::this_thread::sleep_for(400ms);
  const double before = telling.used_ms(0);
  const Instant alone = now();
  std::this_thread::sleep_for(700ms);
  const double alone_ms = static_cast<double>((now() - alone).count()) / 1e6;
  const double rate_alone = (telling.used_ms(0) - before) / alone_ms;
  EXPECT_GT(rate_alone, 1.4 * of_one / elapsed_ms);
  EXPECT_LT(rate_alone, 1.4 * 0.1 * cores());
}

// The files of another user have no effect, but each runtime has to read them. When this runtime
// begins, another one has the whole limit, so this one's part rises only at its second look.
TEST_F(AdmissionUnderHostLimit, serves_soon_whatever_another_user_puts_into_the_folder) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs other users: run as root";
  limit(0.02);
  for (int number = 0; number < 15'500; ++number) {
    const std::string path = place_.holders() + "/1.2." + std::to_string(number);
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_EQ(::fchown(file.number(), 65'533, 65'533), 0);
  }
  const Telling telling;
  const Runtime other(telling, 1, 65'532);
  while (telling.used_ms(1) == 0) std::this_thread::sleep_for(1ms);
  const Runtime one(telling, 0, 65'534);
  while (telling.used_ms(0) == 0) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(3s);
  const double before = telling.used_ms(0);
  const Instant begin = now();
  std::this_thread::sleep_for(3s);
  const double elapsed_ms = static_cast<double>((now() - begin).count()) / 1e6;
  EXPECT_GT(telling.used_ms(0) - before, 0.3 * 0.01 * cores() * elapsed_ms) << "half is its part";
}

}  // namespace
}  // namespace k2k::server
