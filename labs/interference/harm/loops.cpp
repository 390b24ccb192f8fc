#include "labs/interference/harm/loops.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/harm/schedstat.hpp"

namespace k2k::labs::harm {

namespace {

using generators::below;
using generators::draw;

// Each function does `rounds` rounds of work and returns an answer that depends on all of them.

std::uint64_t compute(std::uint64_t rounds, unsigned rank) {
  std::uint64_t state = rank + 1;
  for (std::uint64_t round = 0; round < rounds * 1'000; ++round) state = draw(state, round);
  return state;
}

constexpr std::uint32_t places_of_l1 = 3u << 10;   // 24 KiB, which a core's first cache holds;
constexpr std::uint32_t places_of_l2 = 64u << 10;  // 512 KiB, which its second cache holds.

// Follows pointers in an order without a pattern.
std::uint64_t chase(std::uint32_t places, std::uint64_t rounds, unsigned rank) {
  std::vector<std::uint64_t> next(places);
  std::vector<std::uint32_t> order(places);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t left = places; left > 1; --left) {
    std::swap(order[left - 1], order[below(left, draw(rank, left))]);
  }
  for (std::uint32_t at = 0; at < places; ++at) next[order[at]] = order[(at + 1) % places];
  std::uint64_t place = order[0];
  for (std::uint64_t round = 0; round < rounds * 500; ++round) place = next[place];
  return place;
}

// Branches on numbers without a pattern, in 64 KiB that repeat: a predictor can learn them.
std::uint64_t branch(std::uint64_t rounds, unsigned rank) {
  std::vector<std::uint8_t> steps(4'096);
  for (std::size_t at = 0; at < steps.size(); ++at) {
    steps[at] = static_cast<std::uint8_t>(draw(rank, at) & 3);
  }
  std::uint64_t sum = rank;
  for (std::uint64_t round = 0; round < rounds * 300; ++round) {
    switch (steps[round % steps.size()]) {
      case 0:
        sum += round;
        break;
      case 1:
        sum ^= sum >> 7;
        break;
      case 2:
        sum *= 3;
        break;
      default:
        sum -= round >> 3;
        asm volatile("" : "+r"(sum));  // Keeps the branches branches.
    }
  }
  return sum;
}

// Reads and writes 8 MiB in order.
std::uint64_t stream(std::uint64_t rounds, unsigned rank) {
  constexpr std::size_t words = 1u << 20;
  std::vector<std::uint64_t> data(words, rank + 1);
  const std::uint64_t steps = rounds * 500;
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::uint64_t& word = data[step % words];
    word = word * 3 + step;
  }
  return std::accumulate(data.begin(), data.end(), std::uint64_t{0});
}

// A row of cells that the threads divide. Each round computes every cell from its neighbours, and
// all threads wait for the last one: a thread that is disturbed holds up all.
class Stencil {
 public:
  explicit Stencil(unsigned threads) : threads_(threads), meet_(threads) {
    for (std::vector<double>& side : sides_) side.assign(cells, 0);
    sides_[0][cells / 2] = 1;
  }
  std::uint64_t run(std::uint64_t rounds, unsigned rank) {
    const std::size_t begin = 1 + (cells - 2) * rank / threads_;
    const std::size_t end = 1 + (cells - 2) * (rank + 1) / threads_;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::vector<double>& from = sides_[round % 2];
      std::vector<double>& to = sides_[1 - round % 2];
      for (std::size_t at = begin; at < end; ++at) {
        to[at] = 0.25 * from[at - 1] + 0.5 * from[at] + 0.25 * from[at + 1];
      }
      meet_.arrive_and_wait();
    }
    double sum = 0;
    for (std::size_t at = begin; at < end; ++at) sum += sides_[rounds % 2][at];
    return static_cast<std::uint64_t>(sum * 1e9);
  }

 private:
  static constexpr std::size_t cells = 128u << 10;
  unsigned threads_;
  std::barrier<> meet_;
  std::array<std::vector<double>, 2> sides_;
};

constexpr Loop all_loops[] = {
    {"single", "computes, on one thread: the control", true},
    {"compute", "computes, a thread a core", false},
    {"cache", "follows pointers within a core's caches", false},
    {"l1", "follows pointers within a core's first cache", false},
    {"branchy", "branches on learnable data", false},
    {"stream", "reads and writes more than the caches hold", false},
    {"stencil", "computes between barriers", false},
};

std::uint64_t work(std::string_view name, std::uint64_t rounds, unsigned rank, Stencil* stencil) {
  if (stencil != nullptr) return stencil->run(rounds, rank);
  if (name == "cache") return chase(places_of_l2, rounds, rank);
  if (name == "l1") return chase(places_of_l1, rounds, rank);
  if (name == "branchy") return branch(rounds, rank);
  if (name == "stream") return stream(rounds, rank);
  return compute(rounds, rank);
}

}  // namespace

std::span<const Loop> loops() { return all_loops; }

const Loop* find_loop(std::string_view name) {
  const auto* const found = std::find_if(std::begin(all_loops), std::end(all_loops),
                                         [&](const Loop& one) { return name == one.name; });
  return found == std::end(all_loops) ? nullptr : found;
}

Result<LoopReport> run_loop(const Loop& loop, std::uint64_t rounds, unsigned threads) {
  struct Share {
    Result<Schedstat> before = Schedstat{};
    Result<Schedstat> after = Schedstat{};
    // The thread's clock: schedstat has a running thread's CPU time as of the last tick.
    Nanoseconds cpu{};
    std::uint64_t answer = 0;
  };
  if (loop.one_thread) threads = 1;
  std::vector<Share> shares(threads);
  std::unique_ptr<Stencil> stencil;
  if (std::string_view(loop.name) == "stencil") stencil = std::make_unique<Stencil>(threads);
  std::barrier ready(static_cast<std::ptrdiff_t>(threads) + 1);
  std::atomic<bool> given_up{false};
  const auto body = [&](unsigned rank) {
    Share& share = shares[rank];
    ready.arrive_and_wait();
    if (given_up) return;
    share.before = own_schedstat();
    const Nanoseconds begin = thread_time();
    share.answer = work(loop.name, rounds, rank, stencil.get());
    share.cpu = thread_time() - begin;
    share.after = own_schedstat();
  };
  std::vector<std::jthread> workers;
  try {
    for (unsigned rank = 0; rank < threads; ++rank) workers.emplace_back(body, rank);
  } catch (const std::system_error&) {
    given_up = true;
    for (std::size_t missing = workers.size(); missing < threads; ++missing)
      ready.arrive_and_drop();
    ready.arrive_and_wait();
    return Error{EAGAIN, "no thread for a victim; raise the limit on processes: ulimit -u"};
  }
  ready.arrive_and_wait();
  const Instant begin = now();
  workers.clear();  // Joins.
  LoopReport report;
  report.wall_s = seconds_since(begin);
  for (const Share& share : shares) {
    for (const auto* reading : {&share.before, &share.after}) {
      if (!*reading) return reading->error();
    }
    report.cpu_s += std::chrono::duration<double>(share.cpu).count();
    report.run_delay_s += share.after.value().run_delay_s - share.before.value().run_delay_s;
    report.answer = report.answer * 31 + share.answer;
  }
  return report;
}

}  // namespace k2k::labs::harm
