// Goal: a kernel's own fault names its work-item, and the process dies, or survives, as it would
// without K2K.

#include "backend/cpu/crash_report.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "backend/cpu/device_fixture.hpp"
#include "backend/demand_pages.hpp"

namespace k2k::backend::cpu {
namespace {

class CrashReport : public testing::Test {
 protected:
  void SetUp() override {
    if (!crashes_are_reported) GTEST_SKIP() << "the sanitizer reports faults itself";
  }
};
using CrashReportDeathTest = CrashReport;

// Hides the value from the compiler.
template <class T>
T hidden(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

template <class Body>
void launch_one(const Body& body) {
  const auto device = build(small_device());
  (void)run(*device, 4, 8, [&] {
    const platform::Item& me = platform::current();
    if (me.group == 2 && me.rank == 5) body();
  });
}

void write_to(std::uintptr_t address) { *hidden(reinterpret_cast<volatile int*>(address)) = 1; }

// NOLINTNEXTLINE(misc-no-recursion): the test needs recursion.
__attribute__((noinline)) int descend(int depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(depth);
  return hidden(depth) < 0 ? 0 : descend(depth + 1) + frame[0];
}

TEST_F(CrashReportDeathTest, ANullPointerIsNamedAndTheSignalStays) {
  EXPECT_EXIT(launch_one([] { write_to(0x18); }), testing::KilledBySignal(SIGSEGV),
              "^k2k: kernel 'test': work-item 5 of group 2: SIGSEGV at the address 0x18\n$");
}

TEST_F(CrashReportDeathTest, AnAddressThatIsNotCanonicalIsCalledSo) {
  EXPECT_EXIT(launch_one([] { write_to(std::uintptr_t{1} << 60); }),
              testing::KilledBySignal(SIGSEGV),
              "work-item 5 of group 2: SIGSEGV at an address that is not canonical");
}

TEST_F(CrashReportDeathTest, ADivisionByZeroIsNamed) {
  EXPECT_EXIT(launch_one([] { (void)hidden(hidden(7) / hidden(0)); }),
              testing::KilledBySignal(SIGFPE),
              "work-item 5 of group 2: SIGFPE of the instruction at 0x");
}

TEST_F(CrashReportDeathTest, AFileThatEndsEarlyIsNamed) {
  const int file = memfd_create("empty", 0);
  void* const mapped = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EXIT(launch_one([&] { write_to(reinterpret_cast<std::uintptr_t>(mapped)); }),
              testing::KilledBySignal(SIGBUS), "work-item 5 of group 2: SIGBUS at the address 0x");
  munmap(mapped, page_bytes);
  close(file);
}

TEST_F(CrashReportDeathTest, RecursionWithoutAnEndNamesTheStackAndItsSetting) {
  EXPECT_EXIT(
      launch_one([] { (void)hidden(descend(0)); }), testing::KilledBySignal(SIGSEGV),
      "work-item 5 of group 2: the work-item's stack of 64 KiB overflowed \\(SIGSEGV at the "
      "address 0x[0-9a-f]+\\); raise device.stack_bytes\n$");
}

TEST_F(CrashReportDeathTest, APreviousHandlerDecides) {
  EXPECT_EXIT(
      {
        struct sigaction theirs{};
        theirs.sa_handler = [](int) { _exit(7); };
        sigaction(SIGSEGV, &theirs, nullptr);
        launch_one([] { write_to(0); });
      },
      testing::ExitedWithCode(7), "work-item 5 of group 2: SIGSEGV");
}

TEST_F(CrashReportDeathTest, OtherThreadsCrashWithoutAReport) {
  EXPECT_EXIT(
      {
        const auto device = build(small_device());
        (void)run(*device, 1, 1, [] {});
        write_to(0);
      },
      testing::KilledBySignal(SIGSEGV), "^$");
}

TEST_F(CrashReportDeathTest, BesideADemandRegionAKernelsOwnFaultIsStillNamed) {
  const Result<RegionHandle> region =
      create_region({.name = "beside", .bytes = page_bytes, .handling = FaultHandling::in_place});
  if (!region.ok()) GTEST_SKIP() << region.error().message;
  const auto touch = [&] { *reinterpret_cast<volatile int*>(region.value().data) = 1; };
  EXPECT_EXIT(launch_one([&] { write_to(0); }), testing::KilledBySignal(SIGSEGV),
              "work-item 5 of group 2: SIGSEGV");
  launch_one(touch);  // The handler installed above serves it, too.
  EXPECT_EQ(region_counters(region.value()).pages, 1u);
  retire_region(region.value());
}

TEST_F(CrashReportDeathTest, OfSimultaneousFaultsOneIsReported) {
  EXPECT_EXIT(
      {
        const auto device = build(small_device());
        (void)run(*device, 8, 8, [] { write_to(0); });
      },
      testing::KilledBySignal(SIGSEGV),
      "^k2k: kernel 'test': work-item [0-9] of group [0-9]: SIGSEGV at the address 0x0\n$");
}

TEST_F(CrashReport, RegionsAndDevicesMayEndInAnyOrder) {
  const auto handler = [] {
    struct sigaction current{};
    sigaction(SIGBUS, nullptr, &current);
    return reinterpret_cast<void*>(current.sa_sigaction);
  };
  void* const before = handler();
  const RegionPlan plan{.name = "any order", .bytes = page_bytes, .source = PageSource::zero};
  for (const bool region_first : {true, false}) {
    for (const bool region_ends_first : {true, false}) {
      auto device = build(small_device());
      if (!region_first) (void)run(*device, 1, 1, [] {});
      const Result<RegionHandle> region = create_region(plan);
      if (!region.ok()) GTEST_SKIP() << region.error().message;
      if (region_first) (void)run(*device, 1, 1, [] {});
      EXPECT_NE(handler(), before);
      if (region_ends_first) retire_region(region.value());
      device.reset();
      if (!region_ends_first) retire_region(region.value());
      EXPECT_EQ(handler(), before) << region_first << region_ends_first;
    }
  }
}

TEST_F(CrashReport, AHandlerInstalledLaterLeavesRegionsServedAndGetsTheOtherFaults) {
  static int theirs_called = 0;
  static void* mended = nullptr;
  const auto device = build(small_device());
  (void)run(*device, 1, 1, [] {});
  struct sigaction theirs{};
  static struct sigaction ours{};
  theirs.sa_flags = SA_SIGINFO;
  theirs.sa_sigaction = [](int, siginfo_t*, void*) {
    ++theirs_called;
    mmap(mended, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
         0);
  };
  sigaction(SIGBUS, &theirs, &ours);
  const Result<RegionHandle> region =
      create_region({.name = "between", .bytes = page_bytes, .handling = FaultHandling::in_place});
  if (!region.ok()) GTEST_SKIP() << region.error().message;
  const int file = memfd_create("empty", 0);
  mended = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  (void)run(*device, 1, 1, [&] {
    *reinterpret_cast<volatile int*>(region.value().data) = 1;
    write_to(reinterpret_cast<std::uintptr_t>(mended));
  });
  EXPECT_EQ(region_counters(region.value()).pages, 1u);
  EXPECT_EQ(theirs_called, 1);
  retire_region(region.value());
  sigaction(SIGBUS, &ours, nullptr);
  munmap(mended, page_bytes);
  close(file);
}

TEST_F(CrashReport, AChildForkedWhileHandlersChangeCanChangeThem) {
  std::atomic<bool> ended{false};
  std::thread changing([&] {
    while (!ended.load(std::memory_order_relaxed)) const CrashReports again;
  });
  int hung = 0;
  for (int child = 0; child < 200 && hung == 0; ++child) {
    const pid_t forked = fork();
    if (forked == 0) {
      alarm(10);
      {
        const CrashReports own;
      }
      _exit(0);
    }
    int status = -1;
    if (waitpid(forked, &status, 0) != forked || status != 0) ++hung;
  }
  ended.store(true, std::memory_order_relaxed);
  changing.join();
  EXPECT_EQ(hung, 0);
}

TEST_F(CrashReport, HandlersComeWithTheFirstLaunchAndGoWithTheDevice) {
  const auto handler = [] {
    struct sigaction current{};
    sigaction(SIGSEGV, nullptr, &current);
    return reinterpret_cast<void*>(current.sa_sigaction);
  };
  void* const before = handler();
  {
    const auto device = build(small_device());
    EXPECT_EQ(handler(), before);
    (void)run(*device, 1, 1, [] {});
    EXPECT_NE(handler(), before);
  }
  EXPECT_EQ(handler(), before);
}

TEST_F(CrashReportDeathTest, AHandlerThatCallsOursIsNotCalledAgain) {
  EXPECT_EXIT(
      {
        static struct sigaction ours{};
        {
          const auto device = build(small_device());
          (void)run(*device, 1, 1, [] {});
          struct sigaction theirs{};
          theirs.sa_flags = SA_SIGINFO;
          theirs.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
            ours.sa_sigaction(signal, info, context);
          };
          sigaction(SIGSEGV, &theirs, &ours);
        }
        launch_one([] { write_to(0); });
      },
      testing::KilledBySignal(SIGSEGV), "work-item 5 of group 2: SIGSEGV");
}

}  // namespace
}  // namespace k2k::backend::cpu
