#include "apps/graph500/machine.hpp"

#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>

#include "apps/common/part_threads.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::graph500 {

Status DeviceMachine::run(Work work, const Job& job) {
  const auto report = launch_step(runtime_, shape_, work, job);
  if (!report) return report.error();
  seconds_ += std::chrono::duration<double>(report->elapsed).count();
  return {};
}

Status DeviceMachine::copy(void* to, const void* from, std::size_t bytes) {
  return runtime_.copy(to, from, bytes);
}

Result<std::unique_ptr<HostMachine>> HostMachine::create(std::uint32_t threads,
                                                         std::uint32_t parts) {
  std::unique_ptr<HostMachine> made(new HostMachine(parts));
  const SignalsBlocked blocked({SIGBUS});  // That of a file that is cut.
  try {
    while (made->threads_.size() + 1 < threads) {
      made->threads_.emplace_back([machine = made.get()] { machine->serve(); });
    }
  } catch (const std::system_error& failure) {
    return apps::too_few_threads(made->threads_.size() + 1, threads, failure);
  }
  return made;
}

HostMachine::~HostMachine() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  begins_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HostMachine::take_parts(Work work, const Job& job) {
  while (true) {
    const std::uint32_t part = next_part_.fetch_add(1, std::memory_order_relaxed);
    if (part >= parts_) return;
    Step(job).run(work, part, parts_);
  }
}

void HostMachine::serve() {
  std::uint64_t done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begins_.wait(lock, [&] { return closed_ || step_ != done; });
    if (closed_) return;
    done = step_;
    const Work work = work_;
    const Job& job = *job_;
    lock.unlock();
    take_parts(work, job);
    lock.lock();
    if (--busy_ == 0) ends_.notify_one();
  }
}

Status HostMachine::run(Work work, const Job& job) {
  {
    const std::lock_guard lock(mutex_);
    work_ = work;
    job_ = &job;
    next_part_.store(0, std::memory_order_relaxed);
    busy_ = threads_.size();
    ++step_;
  }
  begins_.notify_all();
  take_parts(work, job);
  std::unique_lock lock(mutex_);
  ends_.wait(lock, [this] { return busy_ == 0; });
  return {};
}

Status HostMachine::copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

}  // namespace k2k::graph500
