#pragma once
// The two machines that run a search's steps: a device by launches, and threads of the host.
//
// Threading: one thread at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "apps/common/part_threads.hpp"
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

// Threads of the host take the same parts as the groups of a launch.
class HostMachine : public Machine {
 public:
  // `threads` includes the one that calls run(). Errors: EAGAIN (no thread could be started).
  static Result<std::unique_ptr<HostMachine>> create(std::uint32_t threads, std::uint32_t parts);
  Status run(Work work, const Job& job) override;
  Status copy(void* to, const void* from, std::size_t bytes) override;

 private:
  HostMachine(std::unique_ptr<apps::PartThreads> threads, std::uint32_t parts)
      : threads_(std::move(threads)), parts_(parts) {}

  std::unique_ptr<apps::PartThreads> threads_;
  const std::uint32_t parts_;
};

}  // namespace k2k::graph500
