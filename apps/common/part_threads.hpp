#pragma once
// Parts of a work by threads of the host, the counterpart of a launch without a device.
//
// Threading: one thread calls; `part` runs on all of them at the same time.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/result.hpp"

namespace k2k::apps {

// EAGAIN: the one line for threads that could not be started.
Error too_few_threads(std::size_t started, std::uint32_t wanted, const std::system_error& failure);

// Threads for works that follow each other. They sleep between two works: threads that spin there,
// as OpenMP's do, took five times as long on cores with other programs.
class PartThreads {
 public:
  // `threads` includes the one that calls run(). Errors: EAGAIN.
  static Result<std::unique_ptr<PartThreads>> create(std::uint32_t threads);
  ~PartThreads();
  PartThreads(const PartThreads&) = delete;
  PartThreads& operator=(const PartThreads&) = delete;

  // Calls part(0) to part(parts - 1), each once. Each thread takes the next part as soon as it ends
  // one.
  void run(std::uint32_t parts, const std::function<void(std::uint32_t)>& part);

 private:
  PartThreads() = default;
  void serve();
  void take_parts(std::uint32_t parts, const std::function<void(std::uint32_t)>& part);

  std::atomic<std::uint32_t> next_part_{0};
  std::mutex mutex_;
  std::condition_variable begins_;
  std::condition_variable ends_;
  // All guarded by mutex_.
  std::uint32_t parts_ = 0;
  const std::function<void(std::uint32_t)>* part_ = nullptr;
  std::uint64_t work_ = 0;  // Its change begins a work.
  std::size_t busy_ = 0;    // Threads that have not ended the work.
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

// One work on threads of its own, with their start. Errors: EAGAIN; then no part was run.
Status run_parts(std::uint32_t threads, std::uint32_t parts,
                 const std::function<void(std::uint32_t)>& part);

}  // namespace k2k::apps
