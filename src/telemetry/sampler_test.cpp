#include "telemetry/sampler.hpp"

#include <gtest/gtest.h>

#include <set>

namespace k2k::telemetry {
namespace {

TEST(Sampler, samples_each_of_the_first_events_of_a_kind) {
  Sampler sampler;
  for (std::uint32_t event = 0; event < Sampler::exact_max; ++event) {
    ASSERT_EQ(sampler.next(7), 1u) << event;
  }
}

TEST(Sampler, counts_any_number_of_events_to_within_a_stride) {
  Sampler sampler;
  std::uint64_t events = 0;
  std::uint64_t stood_for = 0;
  for (; events < 100'000; ++events) {
    ASSERT_LE(stood_for, events + Sampler::stride - 1);
    ASSERT_GE(stood_for, events);
    stood_for += sampler.next(7);
  }
}

TEST(Sampler, takes_each_of_a_power_of_two_of_callers_in_turn) {
  Sampler sampler;
  std::set<std::uint32_t> taken;
  for (std::uint32_t event = 0; event < 64 * Sampler::stride + Sampler::exact_max; ++event) {
    if (sampler.next(7) == Sampler::stride) taken.insert(event % 64);
  }
  EXPECT_EQ(taken.size(), 64u);
}

TEST(Sampler, keeps_kinds_apart) {
  Sampler sampler;
  for (std::uint32_t event = 0; event < 10 * Sampler::exact_max; ++event) sampler.next(7);
  EXPECT_EQ(sampler.next(8), 1u);
}

}  // namespace
}  // namespace k2k::telemetry
