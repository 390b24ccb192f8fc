#include "backend/trace/player.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include "backend/futex.hpp"
#include "backend/sweep.hpp"

namespace k2k::backend::trace {

namespace {

// After the server closed: how long answers of requests that raced with it are waited for.
constexpr Nanoseconds closing_step = std::chrono::milliseconds(1);
constexpr int closing_steps = 100;

bool rung(const protocol::AreaView& area, const std::uint64_t* positions) {
  for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
    if (positions[ring] == any_position) continue;
    // A position ahead of the tail has passed a lap of holes (RingConsumer::pass_lap).
    const std::uint64_t tail = protocol::device_load(area.rings[ring].tail);
    if (static_cast<std::int64_t>(tail - positions[ring]) > 0) return true;
  }
  return false;
}

Nanoseconds until(Tick tick) {
  const Tick moment = cycles();
  if (tick <= moment) return Nanoseconds::zero();
  const double left = static_cast<double>(tick - moment) * nanoseconds_per_cycle();
  return Nanoseconds(static_cast<std::int64_t>(std::min(left, 1e18)));
}

}  // namespace

Status Player::play(const Replay& replay, const Requests& requests, Nanoseconds& elapsed) {
  gate_.open();
  const Instant begin = now();
  Status ended = run(replay, requests);
  elapsed = now() - begin;
  sweep(area_);  // Closed by the server: slots that it kept stay locked otherwise.
  gate_.close();
  fill_in(*replay.report, elapsed);
  return ended;
}

void Player::cancel() noexcept {
  int running_on = 0;
  stop_.compare_exchange_strong(running_on, ECANCELED);
  tell_launch();
}

void Player::wait_doorbell(const std::uint64_t* positions, Nanoseconds longest) {
  const std::uint32_t seen = word_.read();
  const std::uint64_t begin = cycles();
  Tick timer = never;
  bool others = false;
  {
    const std::lock_guard lock(mutex_);
    const bool asked = move_on(begin);
    others = asked && sleepers_ != 0;
    timer = accelerator_.next_due();
    if (!rung(area_, positions) && !word_.take_kept()) {
      ++sleepers_;
      timer_ = std::min(timer_, timer);
    } else {
      longest = Nanoseconds::zero();
    }
  }
  if (others) word_.notify();
  if (longest == Nanoseconds::zero()) return;
  // The look was before the lock: an earlier request or another thread's notice ends this sleep
  // at once.
  word_.sleep(seen, std::min(longest, until(timer)));
  const std::uint64_t awake = cycles();
  {
    const std::lock_guard lock(mutex_);
    --sleepers_;
    timer_ = never;  // Possibly too late for threads that still sleep: they are notified.
    others = move_on(awake) && sleepers_ != 0;
  }
  if (others) word_.notify();
}

LaunchWait Player::wait_launch(const std::uint64_t* positions, Nanoseconds longest) {
  const auto left_over = [&] {
    const std::lock_guard lock(mutex_);
    return rung(area_, positions);
  };
  return gate_.wait(left_over, longest);
}

bool Player::publish_due(std::uint64_t moment) noexcept {
  bool others = false;
  bool asked = false;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return true;  // The holder of the lock publishes.
    asked = move_on(moment);
    others = asked && sleepers_ != 0;
  }
  if (others) word_.notify();
  return asked;
}

void Player::resume(const std::uint32_t* waves, std::size_t count) noexcept {
  if (!active_.load(std::memory_order_relaxed)) return;
  const std::uint64_t moment = cycles();
  bool others = false;
  bool over = false;
  {
    const std::lock_guard lock(mutex_);
    if (abandoned()) accelerator_.stop();
    const bool before = accelerator_.answered(waves, count, moment);
    const bool asked = move_on(moment) || before;
    // Another thread sleeps longer than until the next due time.
    const bool sooner = accelerator_.next_due() < timer_;
    others = sleepers_ != 0 && (asked || sooner);
    if (others) timer_ = accelerator_.next_due();  // The notified thread sets a timer of its own.
    over = accelerator_.ended() || closed();
  }
  if (others) word_.notify();
  if (over) tell_launch();
}

bool Player::closed() const {
  return protocol::load_acquire(area_.closed) != 0;  // Pairs with the server's close().
}

void Player::tell_launch() noexcept {
  progress_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(progress_);
}

// Expects mutex_ held. True if doorbells were rung.
bool Player::move_on(std::uint64_t moment) {
  if (!active_.load(std::memory_order_relaxed)) return false;
  if (abandoned()) accelerator_.stop();
  const bool asked = accelerator_.publish(moment);
  next_due_.store(accelerator_.next_due(), std::memory_order_relaxed);
  device_ += cycles() - moment;
  return asked;
}

Status Player::run(const Replay& replay, const Requests& requests) {
  stop_.store(0, std::memory_order_release);
  {
    const std::lock_guard lock(mutex_);
    const Tick longest = replay.longest == Nanoseconds::zero()
                             ? never
                             : static_cast<Tick>(static_cast<double>(replay.longest.count()) /
                                                 nanoseconds_per_cycle());
    device_ = 0;
    active_.store(true, std::memory_order_relaxed);
    const Tick moment = cycles();
    accelerator_.begin(*replay.source, requests, replay.outstanding, longest, moment);
    device_ = cycles() - moment;
    move_on(cycles());
  }
  word_.notify();
  const Status ended = wait_for_end();
  const std::lock_guard lock(mutex_);
  active_.store(false, std::memory_order_relaxed);
  next_due_.store(never, std::memory_order_relaxed);
  return ended;
}

Status Player::wait_for_end() {
  bool told = false;
  for (int left = closing_steps; left != 0;) {
    const std::uint32_t seen = progress_.load(std::memory_order_seq_cst);
    if (abandoned() && !std::exchange(told, true)) abandon();
    {
      const std::lock_guard lock(mutex_);
      if (accelerator_.ended()) break;
    }
    if (closed()) {
      futex_wait(progress_, seen, closing_step);
      --left;
    } else {
      futex_wait(progress_, seen);
    }
  }
  const std::lock_guard lock(mutex_);
  if (!accelerator_.ended()) accelerator_.give_up();
  if (accelerator_.counts().refused != 0 || closed()) {
    stop_.store(ESHUTDOWN, std::memory_order_release);
    return Error{ESHUTDOWN, "the server ended before the trace did; " +
                                std::to_string(accelerator_.counts().refused) +
                                " requests were refused"};
  }
  if (abandoned()) return Error{ECANCELED, "it was cancelled"};
  return {};
}

void Player::abandon() {
  {
    const std::lock_guard lock(mutex_);
    accelerator_.stop();
  }
  if (on_abandon_) on_abandon_();
}

void Player::fill_in(Report& report, Nanoseconds elapsed) {
  const std::lock_guard lock(mutex_);
  const Counts& counts = accelerator_.counts();
  const auto time = [](Tick ticks) {
    return Nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(ticks) * nanoseconds_per_cycle()));
  };
  report.requests = counts.requests;
  report.answered = counts.answered;
  report.refused = counts.refused;
  report.errors = counts.errors;
  if (counts.errors != 0) {
    report.first_error = std::string(name_of(counts.first_error_operation)) + " answered " +
                         std::to_string(counts.first_error);
  }
  report.ring_full = counts.ring_full;
  report.elapsed = elapsed;
  report.stalled = time(counts.stalled);
  report.device = time(device_);
  report.delays = counts.delays;
  report.tick_ns = nanoseconds_per_cycle();
}

}  // namespace k2k::backend::trace
