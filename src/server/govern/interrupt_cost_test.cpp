// Goal: an interrupt behind a request costs what the machine's interrupts took beyond their time
// without requests, however many other programs cause; bounded, and sensible where Linux samples.

#include "server/govern/interrupt_cost.hpp"

#include <gtest/gtest.h>

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds of_a_wake = 1us;

// A machine whose interrupts the test causes.
class Machine {
 public:
  explicit Machine(bool measured) : measured_(measured) {
    if (measured) counts_.hard = 1s;
    sample();
  }
  // For `time`: so many interrupts of requests and of other programs a second, of this cost.
  void run(Nanoseconds time, std::uint64_t own, std::uint64_t others, Nanoseconds each) {
    const auto seconds = static_cast<double>(time.count()) / 1e9;
    const auto events = static_cast<std::uint64_t>(static_cast<double>(own + others) * seconds);
    now_ += time;
    own_ += static_cast<std::uint64_t>(static_cast<double>(own) * seconds);
    (measured_ ? counts_.hard : counts_.soft) += each * static_cast<std::int64_t>(events);
    counts_.of_devices += events;
    counts_.of_io += events;
    sample();
  }
  // Interrupts that no device causes.
  void tick(Nanoseconds time) { counts_.soft += time; }
  void steal(Nanoseconds time) { counts_.stolen += time; }
  void complete(std::uint64_t requests) { own_ += requests; }

  InterruptCost cost{of_a_wake};

 private:
  void sample() { cost.sample(now_, counts_, own_); }

  const bool measured_;
  Instant now_{1h};
  host::InterruptCounts counts_;
  std::uint64_t own_ = 0;
};

TEST(InterruptCost, is_the_calibrated_one_until_requests_caused_interrupts) {
  Machine machine(true);
  EXPECT_EQ(machine.cost.each(), of_a_wake);
  machine.run(10s, 0, 5000, 40us);
  EXPECT_EQ(machine.cost.each(), of_a_wake) << "these are of other programs";
}

TEST(InterruptCost, is_what_linux_measured) {
  Machine machine(true);
  machine.run(2s, 0, 0, 0us);
  machine.run(1s, 3000, 0, 14us);
  EXPECT_EQ(machine.cost.each(), 14us);
}

TEST(InterruptCost, has_the_calibrated_part_where_linux_only_samples_soft_interrupts) {
  Machine machine(false);
  machine.run(2s, 0, 0, 0us);
  machine.run(1s, 3000, 0, 14us);
  EXPECT_EQ(machine.cost.each(), 15us);
}

TEST(InterruptCost, leaves_out_what_the_machine_does_without_requests) {
  Machine machine(true);
  for (int second = 0; second < 30; ++second) {
    machine.tick(20ms);
    machine.run(1s, 0, 500, 30us);
  }
  for (int second = 0; second < 30; ++second) {
    machine.tick(20ms);
    machine.run(1s, 0, 500, 30us);
    machine.tick(20ms);
    machine.run(1s, 1000, 500, 30us);
  }
  EXPECT_NEAR(static_cast<double>(machine.cost.each().count()), 30e3, 100);
}

TEST(InterruptCost, is_a_mean_to_which_other_programs_only_add_theirs) {
  Machine machine(true);
  machine.run(5s, 0, 0, 0us);
  machine.run(1s, 100, 0, 10us);
  const Nanoseconds alone = machine.cost.each();
  for (int second = 0; second < 60; ++second) machine.run(1s, 100, 20'000, 10us);
  EXPECT_EQ(machine.cost.each(), alone) << "two hundred times as many interrupts";
}

TEST(InterruptCost, forgets_the_interrupts_of_a_program_that_has_ended) {
  Machine machine(true);
  machine.run(60s, 0, 20'000, 10us);
  for (int second = 0; second < 60; ++second) machine.run(1s, 1000, 0, 12us);
  EXPECT_NEAR(static_cast<double>(machine.cost.each().count()), 12e3, 300);
}

TEST(InterruptCost, has_bounds) {
  Machine dear(true);
  dear.run(1s, 0, 0, 0us);
  dear.run(1s, 10, 0, 5ms);
  EXPECT_EQ(dear.cost.each(), InterruptCost::longest);
  Machine unseen(false);
  unseen.run(1s, 0, 0, 0us);
  unseen.run(1s, 3000, 0, 0us);
  EXPECT_EQ(unseen.cost.each(), of_a_wake) << "hard interrupts, which this Linux does not see";
  EXPECT_EQ(InterruptCost(1s).each(), InterruptCost::longest);
}

TEST(InterruptCost, is_shared_by_requests_that_one_interrupt_completes) {
  Machine machine(true);
  machine.run(1s, 0, 0, 0us);
  machine.complete(9'000);
  machine.run(1s, 1'000, 0, 20us);  // 10,000 requests.
  EXPECT_EQ(machine.cost.each(), 2us);
}

TEST(InterruptCost, takes_no_sample_without_time) {
  Machine machine(true);
  machine.run(1s, 0, 0, 0us);
  machine.run(0s, 3000, 0, 14us);
  EXPECT_EQ(machine.cost.each(), of_a_wake);
}

TEST(InterruptCost,
     divides_the_time_in_which_a_thread_did_not_run_between_interrupts_and_hypervisor) {
  Machine machine(true);
  machine.steal(30ms);
  machine.run(1s, 1000, 0, 10us);
  EXPECT_DOUBLE_EQ(machine.cost.part_of_gap(), 0.25);
  machine.run(1s, 1000, 0, 10us);
  EXPECT_DOUBLE_EQ(machine.cost.part_of_gap(), 1);
  Machine sampled(false);
  sampled.run(1s, 1000, 0, 10us);
  EXPECT_EQ(sampled.cost.part_of_gap(), 0) << "clocks of threads include interrupts there";
}

}  // namespace
}  // namespace k2k::server
