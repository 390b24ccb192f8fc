#include "apps/common/part_threads.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>

#include "base/signals_blocked.hpp"

namespace k2k::apps {

Error too_few_threads(std::size_t started, std::uint32_t wanted, const std::system_error& failure) {
  return Error{EAGAIN, fmt::format("only {} of {} threads could be started ({}); take fewer "
                                   "--threads, or raise the limit of processes (ulimit -u)",
                                   started, wanted, failure.what())};
}

Result<std::unique_ptr<PartThreads>> PartThreads::create(std::uint32_t threads) {
  std::unique_ptr<PartThreads> made(new PartThreads);
  const SignalsBlocked blocked({SIGBUS});  // That of a file that is cut.
  try {
    while (made->threads_.size() + 1 < threads) {
      made->threads_.emplace_back([team = made.get()] { team->serve(); });
    }
  } catch (const std::system_error& failure) {
    return too_few_threads(made->threads_.size() + 1, threads, failure);
  }
  return made;
}

PartThreads::~PartThreads() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  begins_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PartThreads::take_parts(std::uint32_t parts, const std::function<void(std::uint32_t)>& part) {
  while (true) {
    const std::uint32_t mine = next_part_.fetch_add(1, std::memory_order_relaxed);
    if (mine >= parts) return;
    part(mine);
  }
}

void PartThreads::serve() {
  std::uint64_t done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begins_.wait(lock, [&] { return closed_ || work_ != done; });
    if (closed_) return;
    done = work_;
    const std::uint32_t parts = parts_;
    const auto* const part = part_;
    lock.unlock();
    take_parts(parts, *part);
    lock.lock();
    if (--busy_ == 0) ends_.notify_one();
  }
}

void PartThreads::run(std::uint32_t parts, const std::function<void(std::uint32_t)>& part) {
  {
    const std::lock_guard lock(mutex_);
    parts_ = parts;
    part_ = &part;
    next_part_.store(0, std::memory_order_relaxed);
    busy_ = threads_.size();
    ++work_;
  }
  begins_.notify_all();
  take_parts(parts, part);
  std::unique_lock lock(mutex_);
  ends_.wait(lock, [this] { return busy_ == 0; });
}

Status run_parts(std::uint32_t threads, std::uint32_t parts,
                 const std::function<void(std::uint32_t)>& part) {
  const auto team = PartThreads::create(threads);
  if (!team) return team.error();
  (*team)->run(parts, part);
  return {};
}

}  // namespace k2k::apps
