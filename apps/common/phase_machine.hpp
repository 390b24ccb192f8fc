#pragma once
// What runs the phases of a program: a device, a launch each, or threads of the host by the same
// code, with calls of libc and Linux' own page faults. A launch costs the ratio of the two.
//
// Threading: one thread; it starts a runtime, or threads.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "apps/common/device_blocks.hpp"
#include "apps/common/input_run.hpp"
#include "apps/common/part_threads.hpp"
#include "apps/common/share.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::apps {

// Of either machine: 0 is its default.
struct PhaseParts {
  std::uint32_t groups = 0;   // Of a launch; of threads, the parts of a phase.
  std::uint32_t items = 0;    // Of a group.
  std::uint32_t threads = 0;  // Of the host.
};

class PhaseMachine {
 public:
  // Errors: as Runtime::create().
  static Result<std::unique_ptr<PhaseMachine>> of_device(const RuntimeConfig& config,
                                                         const PhaseParts& parts);
  // Errors: EAGAIN (no thread).
  static Result<std::unique_ptr<PhaseMachine>> of_threads(const PhaseParts& parts);

  // Zeroed memory that the phases use alone, or the host too. Errors: ENOMEM.
  Result<void*> allocate(std::size_t bytes);
  Result<void*> allocate_shared(std::size_t bytes);
  // Errors: as Runtime::copy().
  Status copy(void* to, const void* from, std::size_t bytes);
  // `name`: of the region; `program`: begins the line about a file that is cut. Errors: as
  // InputMemory::create() and on_host().
  Result<InputMemory> take_input(const InputFile& file, Mode mode, Use use, const char* name,
                                 const char* program);

  // One phase, whose time counts in `run`. `launch(runtime, shape)` returns
  // Result<LaunchReport>, `part(share)` nothing. Errors: as timed_launch().
  template <class Launch>
  Status make_phase(const InputFile& file, InputRun& run, const Launch& launch,
                    const std::function<void(const Share&)>& part) {
    return timed_launch(file, run, [&]() -> Status {
      if (runtime_) {
        const auto report = launch(*runtime_, shape_);
        return report ? Status() : report.error();
      }
      threads_->run(shape_.groups, [&](std::uint32_t rank) { part({rank, shape_.groups}); });
      return {};
    });
  }

  // After the last phase: memory, faults and requests.
  void note_end(InputRun& run, const InputMemory& memory) const;

 private:
  PhaseMachine() = default;

  std::optional<Runtime> runtime_;  // Of a device.
  std::optional<DeviceBlocks> blocks_;
  std::unique_ptr<PartThreads> threads_;  // Of the host.
  std::deque<std::vector<std::uint64_t>> memories_;
  LaunchShape shape_;
};

}  // namespace k2k::apps
