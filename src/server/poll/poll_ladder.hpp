#pragma once
// The next step of a poller that finds no doorbell: spin, yield the core, sleep.
//
//   interrupt   spin_us, then yield_us, then asleep until the device rings
//   polling     nothing can wake it, as with a GPU: it sleeps a sixteenth of the time for which
//               nothing came, 80 us to 1.3 ms, and looks. Where requests come too rarely to be met
//               by spinning, it does not spin. While no kernel runs it sleeps until one is launched
//
// Pure policy: time is an argument, cycles(). Threading: as for any value.

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class PollLadder {
 public:
  enum class Step : std::uint8_t { spin, offer, sleep };

  static constexpr std::uint32_t nap_min_us = 80;
  static constexpr std::uint32_t nap_max_us = 1'300;
  static constexpr std::uint32_t idle_parts = 16;

  PollLadder(const ServerConfig& config, std::uint64_t moment)
      : polls_(config.notify == Notify::polling),
        sleep_us_(config.sleep_us),
        spin_(cycles_of(config.spin_us)),
        awake_(spin_ + cycles_of(config.yield_us)),
        nap_min_(cycles_of(nap_min_us)),
        idle_since_(moment) {}

  [[nodiscard]] std::uint64_t idle(std::uint64_t moment) const { return moment - idle_since_; }

  // A kernel starts: its requests may come soon.
  void restart(std::uint64_t moment) {
    idle_since_ = moment;
    sparse_ = false;
  }

  // A request was found and served.
  void found(std::uint64_t moment) { sparse_ = polls_ && moment - idle_since_ > spin_; }
  void served(std::uint64_t moment) { idle_since_ = moment; }

  // A thread that shares this core may be the next to ring: later spins yield the core between
  // polls.
  [[nodiscard]] Step next(std::uint64_t moment) const {
    const std::uint64_t idle = moment - idle_since_;
    if (idle >= awake_ || sparse_) return Step::sleep;
    return idle >= spin_ / 4 ? Step::offer : Step::spin;
  }

  // Microseconds to sleep at most.
  [[nodiscard]] std::uint32_t sleep_us(std::uint64_t moment) const {
    if (!polls_) return sleep_us_;
    const std::uint64_t naps = (moment - idle_since_) / idle_parts / nap_min_;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(naps * nap_min_us, nap_min_us, nap_max_us));
  }

 private:
  bool polls_;
  std::uint32_t sleep_us_;
  std::uint64_t spin_;
  std::uint64_t awake_;  // Time of spinning and yielding.
  std::uint64_t nap_min_;
  std::uint64_t idle_since_;
  bool sparse_ = false;  // The last request came after the spin had ended.
};

}  // namespace k2k::server
