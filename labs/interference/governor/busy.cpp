#include "labs/interference/governor/busy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>

#include "base/clock.hpp"
#include "base/contract.hpp"

namespace k2k::labs::governor {

namespace {

constexpr Nanoseconds load_period = std::chrono::milliseconds(10);
constexpr std::size_t memory_words = (64u << 10) / sizeof(std::uint64_t);

// One pass over the memory: some microseconds.
void round_over(std::vector<std::uint64_t>& memory) {
  std::uint64_t carried = 1;
  for (std::uint64_t& word : memory) {
    carried += word * 0x9E3779B97F4A7C15u;
    word ^= carried;
  }
  asm volatile("" : : "r"(carried) : "memory");
}

}  // namespace

double rate_between(const Progress& before, const Progress& after) {
  const auto wanted = static_cast<double>((after.wanted - before.wanted).count());
  return wanted > 0 ? static_cast<double>(after.work - before.work) / wanted : 0;
}

double median_rate(const std::vector<Progress>& looks) {
  K2K_EXPECT(looks.size() >= 2);
  std::vector<double> rates;
  for (std::size_t look = 1; look < looks.size(); ++look) {
    rates.push_back(rate_between(looks[look - 1], looks[look]));
  }
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

Status BusyPrograms::start(std::uint32_t cores, double fraction) {
  K2K_EXPECT(programs_.empty() && fraction > 0 && fraction <= 1);
  stop_.store(false, std::memory_order_relaxed);
  try {
    for (std::uint32_t core = 0; core < cores; ++core) {
      programs_.push_back(std::make_unique<Program>());
      Program& program = *programs_.back();
      program.thread = std::thread([this, &program, fraction] { compute(program, fraction); });
    }
  } catch (const std::system_error& failure) {
    stop();
    return Error{EAGAIN, fmt::format("no threads for {} CPU programs ({}); raise the limit on "
                                     "processes: ulimit -u",
                                     cores, failure.what())};
  }
  return {};
}

void BusyPrograms::stop() {
  stop_.store(true, std::memory_order_relaxed);
  for (const auto& program : programs_) {
    if (program->thread.joinable()) program->thread.join();
  }
  programs_.clear();
}

Progress BusyPrograms::done() const {
  Progress sum;
  for (const auto& program : programs_) {
    sum.work += program->work.load(std::memory_order_relaxed);
    sum.wanted += Nanoseconds(program->wanted_ns.load(std::memory_order_relaxed));
  }
  return sum;
}

void BusyPrograms::compute(Program& program, double fraction) const {
  const Nanoseconds phase(std::llround(static_cast<double>(load_period.count()) * fraction));
  std::vector<std::uint64_t> memory(memory_words, 1);
  Instant begin = now();
  while (!stop_.load(std::memory_order_relaxed)) {
    Instant last = begin;
    while (last < begin + phase) {
      round_over(memory);
      const Instant moment = now();
      program.work.fetch_add(1, std::memory_order_relaxed);
      program.wanted_ns.fetch_add((moment - last).count(), std::memory_order_relaxed);
      last = moment;
    }
    if (fraction < 1) {
      std::this_thread::sleep_until(begin + load_period);
      last = now();
    }
    begin = last;
  }
}

}  // namespace k2k::labs::governor
