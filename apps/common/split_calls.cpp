#include "apps/common/split_calls.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/contract.hpp"

namespace k2k::apps {

namespace {

std::int64_t make(const SplitCall& call) {
  const std::uint64_t* const words = call.arguments;
  const long result =
      ::syscall(call.number, words[0], words[1], words[2], words[3], words[4], words[5]);
  return result == -1 ? -errno : result;
}

// Threads that make the calls of one round together.
//
//   caller   begins a round (release) ─▶ helper sees its number (acquire), takes calls by index
//   helper   leaves the round (release) ─▶ caller sees that all left (acquire)
class CallMakers {
 public:
  CallMakers(SplitCall* calls, std::uint32_t groups) : calls_(calls), groups_(groups) {}
  ~CallMakers() {
    over_.store(true, std::memory_order_relaxed);  // Published by the next line.
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
  }
  CallMakers(const CallMakers&) = delete;
  CallMakers& operator=(const CallMakers&) = delete;

  Status begin(std::uint32_t threads) {
    try {
      for (std::uint32_t helper = 1; helper < threads; ++helper) {
        helpers_.emplace_back([this] { help(); });
      }
    } catch (const std::system_error& failure) {
      return Error{EAGAIN, fmt::format("no thread to make calls with ({}); raise ulimit -u",
                                       failure.what())};
    }
    return {};
  }

  // Makes the calls that the groups left; returns their number.
  std::uint64_t round() {
    next_.store(0, std::memory_order_relaxed);
    made_.store(0, std::memory_order_relaxed);
    busy_.store(static_cast<std::uint32_t>(helpers_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    take();
    for (std::uint32_t left = busy_.load(std::memory_order_acquire); left != 0;
         left = busy_.load(std::memory_order_acquire)) {
      busy_.wait(left, std::memory_order_acquire);
    }
    return made_.load(std::memory_order_relaxed);
  }

 private:
  void take() {
    std::uint64_t made = 0;
    while (true) {
      const std::uint32_t group = next_.fetch_add(1, std::memory_order_relaxed);
      if (group >= groups_) break;
      SplitCall& call = calls_[group];
      if (call.number == SplitCall::none) continue;
      call.result = make(call);
      ++made;
    }
    made_.fetch_add(made, std::memory_order_relaxed);
  }

  void help() {
    std::uint64_t seen = 0;
    while (true) {
      round_.wait(seen, std::memory_order_acquire);
      seen = round_.load(std::memory_order_acquire);
      if (over_.load(std::memory_order_relaxed)) return;
      take();
      if (busy_.fetch_sub(1, std::memory_order_release) == 1) busy_.notify_one();
    }
  }

  SplitCall* calls_;
  std::uint32_t groups_;
  std::vector<std::thread> helpers_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<bool> over_{false};
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> busy_{0};  // Helpers that have not left the round.
  std::atomic<std::uint64_t> made_{0};
};

}  // namespace

Result<SplitReport> split_launches(SplitCall* calls, std::uint32_t groups, std::uint32_t threads,
                                   const std::function<Status()>& launch) {
  K2K_EXPECT(threads >= 1);
  CallMakers makers(calls, groups);
  if (Status begun = makers.begin(threads); !begun) return begun.error();
  SplitReport report;
  std::uint64_t made = 0;
  do {
    const Instant begin = now();
    if (Status launched = launch(); !launched) return launched.error();
    report.in_launches += now() - begin;
    ++report.launches;
    made = makers.round();
    report.calls += made;
  } while (made != 0);
  return report;
}

}  // namespace k2k::apps
