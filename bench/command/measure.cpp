// Quantiles, and the floor: a cache-line round trip between two cores.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <numeric>
#include <system_error>
#include <thread>

#include "base/cache_line.hpp"
#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/wait_until.hpp"
#include "bench/thread_cores.hpp"

namespace k2k::bench {

namespace {

struct alignas(128) Line {
  std::atomic<std::uint32_t> word{0};

  void await(std::uint32_t value) const {
    wait_until([&] { return word.load(std::memory_order_acquire) == value; });
  }
};

}  // namespace

double Samples::quantile(double quantile) const {
  K2K_EXPECT(!values_.empty());
  std::vector<double> sorted = values_;
  const auto rank = static_cast<std::size_t>(quantile * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(rank),
                   sorted.end());
  return sorted[rank];
}

double Samples::mean() const {
  K2K_EXPECT(!values_.empty());
  return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
}

double Samples::deviation() const {
  if (values_.size() < 2) return 0;
  const double middle = mean();
  double squares = 0;
  for (const double value : values_) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values_.size() - 1));
}

Result<std::vector<double>> cache_line_round_trips(int count) {
  const std::vector<int> cores = cores_of_thread();
  if (cores.size() < 2) {
    return Error{EINVAL,
                 "the floor is a round trip between two cores, and this process may use "
                 "only one (see taskset -p)"};
  }
  Line there;
  Line back;
  std::vector<double> nanoseconds;
  nanoseconds.reserve(static_cast<std::size_t>(count));
  const auto trips = static_cast<std::uint32_t>(count);
  try {
    std::thread asker([&] {
      stay_on(cores[0]);
      for (std::uint32_t trip = 1; trip <= trips; ++trip) {
        const std::uint64_t start = cycles();
        there.word.store(trip, std::memory_order_release);
        back.await(trip);
        nanoseconds.push_back(static_cast<double>(cycles() - start) * nanoseconds_per_cycle());
      }
    });
    std::thread answerer([&] {
      stay_on(cores[1]);
      for (std::uint32_t trip = 1; trip <= trips; ++trip) {
        there.await(trip);
        back.word.store(trip, std::memory_order_release);
      }
    });
    asker.join();
    answerer.join();
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, std::string("no second thread for the floor: ") + failure.what()};
  }
  return nanoseconds;
}

Result<double> lines_handed_over(std::uint32_t waves, std::uint32_t lanes, std::uint64_t lines) {
  const std::vector<int> cores = cores_of_thread();
  if (cores.size() < 2) {
    return Error{EINVAL,
                 "the floor is lines handed over between two cores, and this process may use only "
                 "one (see taskset -p)"};
  }
  struct alignas(64) Slot {
    std::uint64_t words[8];
  };
  std::vector<Slot> slots(std::size_t{waves} * lanes);
  std::vector<Line> there(waves);
  std::vector<Line> back(waves);
  const auto turns = static_cast<std::uint32_t>(lines / lanes / waves);
  std::uint64_t sum = 0;
  Instant begin;
  Instant end;
  try {
    std::thread asker([&] {
      stay_on(cores[0]);
      begin = now();
      for (std::uint32_t turn = 1; turn <= turns + 1; ++turn) {
        for (std::uint32_t wave = 0; wave < waves; ++wave) {
          back[wave].await(turn - 1);
          Slot* const batch = &slots[std::size_t{wave} * lanes];
          for (std::uint32_t lane = 0; lane < lanes; ++lane) prefetch_to_write(batch + lane);
          for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            sum += batch[lane].words[0];
            batch[lane].words[1] = turn;
          }
          there[wave].word.store(turn, std::memory_order_release);
        }
      }
      end = now();
    });
    std::thread answerer([&] {
      stay_on(cores[1]);
      for (std::uint32_t turn = 1; turn <= turns; ++turn) {
        for (std::uint32_t wave = 0; wave < waves; ++wave) {
          there[wave].await(turn);
          Slot* const batch = &slots[std::size_t{wave} * lanes];
          for (std::uint32_t lane = 0; lane < lanes; ++lane) prefetch_to_write(batch + lane);
          for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            batch[lane].words[0] = batch[lane].words[1];
          }
          back[wave].word.store(turn, std::memory_order_release);
        }
      }
    });
    asker.join();
    answerer.join();
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, std::string("no second thread for the floor: ") + failure.what()};
  }
  asm volatile("" ::"r"(sum));  // Uses the result, so that the compiler keeps the reads.
  return static_cast<double>(std::uint64_t{turns} * waves * lanes) * 1'000 /
         static_cast<double>((end - begin).count());
}

double rounded(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10, 2 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

}  // namespace k2k::bench
