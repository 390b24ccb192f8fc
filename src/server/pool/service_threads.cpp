#include "server/pool/service_threads.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "base/own_process.hpp"
#include "base/signals_blocked.hpp"
#include "services/walls/walls.hpp"

namespace k2k::server {

ServiceThread& ServiceThreads::add_thread() {
  auto thread = std::make_unique<ServiceThread>();
  thread->index = static_cast<std::uint32_t>(threads_.size()) + 1;
  thread->account.stats = &thread->stats;
  thread->reserve();
  thread->stats.events.turn(records_events_);
  return *threads_.emplace_back(std::move(thread));
}

void ServiceThreads::record_events(bool on) {
  const std::lock_guard lock(mutex_);
  for (const auto& thread : threads_) thread->stats.events.turn(on);
  records_events_ = on;
}

bool ServiceThreads::add(const Main& main, const char* name, std::uint32_t number) {
  const SignalsBlocked guard;
  const std::lock_guard lock(mutex_);
  if (released_) return false;
  const std::size_t before = threads_.size();
  try {
    ServiceThread& self = add_thread();
    using Enclosure = ServiceThread::Enclosure;
    if (walls_ != nullptr) {
      self.enclosure = walls_->enclose_this_thread() ? Enclosure::inherited : Enclosure::pending;
    }
    self.thread = std::thread([this, owner = owner_.lock(), main, name, number, &self] {
      run(self, main, name, number);
    });
    self.enclosure.wait(Enclosure::pending);
    if (self.enclosure != Enclosure::failed) return true;
    self.thread.join();
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  threads_.resize(before);
  return false;
}

void ServiceThreads::run(ServiceThread& self, const Main& main, const char* name,
                         std::uint32_t number) {
  const OwnThread own;
  std::array<char, 16> whole{};  // Linux' maximum length of a thread name.
  std::snprintf(whole.data(), whole.size(), name, number);
  pthread_setname_np(pthread_self(), whole.data());
  prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);  // 1 us: short sleeps stay short.
  if (!enter_walls(self)) return;
  sleeping_->join(self.sleeper);
  main(self);
  sleeping_->leave(self.sleeper);
  self.settle(cycles());
  const std::lock_guard lock(mutex_);
  self.cpu_ns = thread_time().count();
  self.ended = true;
  ended_.notify_all();
}

bool ServiceThreads::enter_walls(ServiceThread& self) const {
  using Enclosure = ServiceThread::Enclosure;
  switch (self.enclosure.load()) {
    case Enclosure::inherited:
      walls_->inherit();
      return true;
    case Enclosure::pending: {
      const bool enclosed = walls_->enclose() == 0;
      self.enclosure = enclosed ? Enclosure::done : Enclosure::failed;
      self.enclosure.notify_one();
      return enclosed;
    }
    case Enclosure::done:
    case Enclosure::failed:
      break;
  }
  return true;
}

ServiceThread& ServiceThreads::add_unit() {
  const std::lock_guard lock(mutex_);
  ServiceThread& unit = add_thread();
  unit.is_unit = true;
  unit.ended = true;
  return unit;
}

const ServiceThread& ServiceThreads::at(std::uint32_t index) const {
  const std::lock_guard lock(mutex_);
  return *threads_[index - 1];
}

std::uint64_t ServiceThreads::calls_of_roles() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& thread : threads_) sum += telemetry::Mark::passages(thread->call.view());
  return sum;
}

Adaptive::Counted ServiceThreads::counted() const {
  const std::lock_guard lock(mutex_);
  Adaptive::Counted sum;
  for (const auto& thread : threads_) sum.add(thread->stats);
  return sum;
}

bool ServiceThreads::wait_ended(Nanoseconds longest) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, longest, [this] {
    return std::all_of(threads_.begin(), threads_.end(), [](const auto& t) { return t->ended; });
  });
}

void ServiceThreads::release() {
  const std::lock_guard lock(
      mutex_);  // A thread takes the lock before it is seen as ended, not after.
  released_ = true;
  for (const auto& thread : threads_) {
    if (thread->is_unit) continue;
    if (thread->ended) {
      thread->thread.join();
    } else {
      thread->thread.detach();
    }
  }
}

}  // namespace k2k::server
