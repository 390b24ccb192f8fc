#include "server/govern/keeper_thread.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/own_process.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::server {

namespace {
// A thread that waits during a refresh returns after this time.
constexpr Nanoseconds wake_by_min = std::chrono::milliseconds(100);
}  // namespace

Status KeeperThread::start(Work work) {
  work_ = std::move(work);
  try {
    const SignalsBlocked guard;
    thread_ = std::thread([this] {
      const OwnThread own;
      pthread_setname_np(pthread_self(), name_);
      run();
    });
  } catch (const std::system_error& failure) {
    return Error{EAGAIN,
                 fmt::format("no thread for {} ({}); raise the limit on processes: ulimit -u",
                             purpose_, failure.what())};
  }
  return {};
}

void KeeperThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    awaited_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void KeeperThread::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  awaited_.notify_one();  // Behind the lock, which the woken thread takes first.
}

void KeeperThread::plan(Instant due) {
  due_.store(due);
  due_cycles_.store(cycles() + cycles_in(std::max(due - now(), Nanoseconds::zero())),
                    std::memory_order_relaxed);
}

Instant KeeperThread::wake_by(Instant now) const {
  if (by_timer_.load()) return Instant::max();
  const Instant due = due_.load();
  return due > now ? due : now + wake_by_min;
}

void KeeperThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto awake = [this] { return woken_ || ending_; };
    if (by_timer_.load()) {
      awaited_.wait_until(lock, due_.load(), awake);
    } else {
      awaited_.wait(lock, awake);
    }
    if (ending_) return;
    woken_ = false;
    due_cycles_.store(never, std::memory_order_relaxed);
    by_timer_.store(false);  // Before the work counts waiting threads: see wake_by().
    wakes_.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    const Next next = work_();
    plan(next.due);
    by_timer_.store(next.by_timer);
    lock.lock();
  }
}

}  // namespace k2k::server
