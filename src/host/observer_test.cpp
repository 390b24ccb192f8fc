// Goal: the external observer reads Linux' format, and handles threads that come and go.

#include "host/observer.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>

#include "base/clock.hpp"

namespace k2k::host {
namespace {

using namespace std::chrono_literals;

TEST(Observer, reads_the_first_field_of_schedstat) {
  EXPECT_EQ(cpu_time_of("123456789 42 7\n"), 123'456'789ns);
  EXPECT_EQ(cpu_time_of("0 0 0\n"), 0ns);
  EXPECT_EQ(cpu_time_of(""), std::nullopt);
  EXPECT_EQ(cpu_time_of("\n"), std::nullopt);
  EXPECT_EQ(cpu_time_of("12"), std::nullopt) << "cut off: more digits may follow";
  EXPECT_EQ(cpu_time_of("-5 0 0\n"), std::nullopt);
  EXPECT_EQ(cpu_time_of("on cpu\n"), std::nullopt);
  EXPECT_EQ(cpu_time_of("99999999999999999999 0 0\n"), std::nullopt);
}

TEST(Observer, recognises_service_threads_by_their_names) {
  EXPECT_TRUE(is_service_thread("k2k/serve0\n"));
  EXPECT_TRUE(is_service_thread("k2k/serve255"));
  EXPECT_TRUE(is_service_thread("k2k/wait\n"));
  EXPECT_TRUE(is_service_thread("k2k/reads\n"));
  EXPECT_TRUE(is_service_thread("k2k/host\n"));
  EXPECT_TRUE(is_service_thread("k2k/clerk\n"));
  EXPECT_TRUE(is_service_thread("k2k/fault"));
  EXPECT_TRUE(is_service_thread("k2k/guard\n"));
  EXPECT_TRUE(is_service_thread("k2k/limit\n"));
  EXPECT_TRUE(is_service_thread("k2k/canary\n"));
  EXPECT_TRUE(is_service_thread("k2k/ticker\n"));
  EXPECT_TRUE(is_service_thread("k2k/cores\n"));
  EXPECT_TRUE(is_device_thread("k2k/unit3\n"));
  EXPECT_FALSE(is_device_thread("k2k/serve0\n"));
  EXPECT_FALSE(is_service_thread("k2k/waiter\n"));
  EXPECT_FALSE(is_service_thread("k2k/unit0\n"));
  EXPECT_FALSE(is_service_thread("k2k\n"));
  EXPECT_FALSE(is_service_thread("k2k/control\n"));
  EXPECT_FALSE(is_service_thread(""));
}

TEST(Observer, sums_over_threads_that_come_and_go) {
  ThreadSum sum;
  sum.update({{10, 5ns}});
  EXPECT_EQ(sum.total(), 5ns);
  sum.update({{10, 8ns}, {11, 100ns}});  // Thread 11 began in between, so all of its time counts.
  EXPECT_EQ(sum.total(), 108ns);
  sum.update({{11, 130ns}});  // Thread 10 ended; its 8 ns stay counted.
  EXPECT_EQ(sum.total(), 138ns);
  sum.update({{10, 50ns}, {11, 130ns}});  // Another thread with number 10.
  EXPECT_EQ(sum.total(), 188ns);
  sum.update({{10, 4ns}, {11, 131ns}});  // A third thread 10, which began between two looks.
  EXPECT_EQ(sum.total(), 193ns);
  sum.update({});
  EXPECT_EQ(sum.total(), 193ns);
}

TEST(Observer, counts_threads_with_such_names_only) {
  Observer observer;
  ASSERT_TRUE(observer.read().ok());
  const Nanoseconds before = observer.read()->cpu;
  const auto work = [&](const char* name, auto then) {
    std::thread([&] {
      pthread_setname_np(pthread_self(), name);
      while (thread_time() < 20ms) {
      }
      then();
    }).join();
  };
  work("other", [] {});
  EXPECT_EQ(observer.read()->cpu, before);
  Nanoseconds seen{};
  work("k2k/serve7", [&] {
    std::this_thread::sleep_for(1ms);  // A context switch updates the thread's CPU time.
    seen = observer.read()->cpu - before;
  });
  EXPECT_GE(seen, 15ms);
  EXPECT_EQ(observer.read()->cpu - before, seen) << "the time of an ended thread is kept";
}

TEST(Observer, of_a_process_that_is_not_there_names_the_path) {
  Observer observer(is_service_thread, "/proc/0/task");
  const Result<Reading> reading = observer.read();
  ASSERT_FALSE(reading.ok());
  EXPECT_NE(reading.error().message.find("cannot read /proc/0/task"), std::string::npos);
}

}  // namespace
}  // namespace k2k::host
