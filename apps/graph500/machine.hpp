#pragma once
// The two machines that run a search's steps: a device by launches, and threads of the host.
//
// Threading: one thread at a time.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "apps/graph500/kernel.hpp"

namespace k2k::graph500 {

class Machine {
 public:
  virtual ~Machine() = default;
  virtual Status run(Work work, const Job& job) = 0;
  virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;
};

class DeviceMachine : public Machine {
 public:
  DeviceMachine(Runtime& runtime, const LaunchShape& shape) : runtime_(runtime), shape_(shape) {}
  // Errors: as Runtime::launch().
  Status run(Work work, const Job& job) override;
  Status copy(void* to, const void* from, std::size_t bytes) override;
  [[nodiscard]] double seconds() const { return seconds_; }  // Of all launches.

 private:
  Runtime& runtime_;
  LaunchShape shape_;
  double seconds_ = 0;
};

// Threads of the host take the same parts as the groups of a launch. They sleep between two steps:
// threads that spin there, as OpenMP's do, took five times as long on cores with other programs.
class HostMachine : public Machine {
 public:
  // `threads` includes the one that calls run(). Errors: EAGAIN (no thread could be started).
  static Result<std::unique_ptr<HostMachine>> create(std::uint32_t threads, std::uint32_t parts);
  ~HostMachine() override;
  HostMachine(const HostMachine&) = delete;
  HostMachine& operator=(const HostMachine&) = delete;

  Status run(Work work, const Job& job) override;
  Status copy(void* to, const void* from, std::size_t bytes) override;

 private:
  explicit HostMachine(std::uint32_t parts) : parts_(parts) {}
  void serve();
  void take_parts(Work work, const Job& job);

  const std::uint32_t parts_;
  std::atomic<std::uint32_t> next_part_{0};
  std::mutex mutex_;
  std::condition_variable begins_;
  std::condition_variable ends_;
  // All guarded by mutex_.
  Work work_ = Work::clear;
  const Job* job_ = nullptr;
  std::uint64_t step_ = 0;  // Its change begins a step.
  std::size_t busy_ = 0;    // Threads that have not ended the step.
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace k2k::graph500
