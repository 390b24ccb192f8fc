#pragma once
// ForeignKernels of a GPU: kernels that Numba, CuPy, PyTorch or cuda.core launch on the device
// whose context K2K shares with them.
//
//   begin()    the launch gate opens: service threads look for doorbells
//   context()  a ForeignContext and its ranges, in device memory of their own; a new one when other
//              memory is registered, because kernels that run may read the old one
//   end()      waits for all kernels of the context ─▶ sweep ─▶ the gate closes
//
// Threading: as ForeignKernels; serves() with `launching` held.

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/demand_pages.hpp"
#include "backend/foreign_kernels.hpp"
#include "backend/gpu/driver.hpp"
#include "backend/gpu/memory.hpp"
#include "backend/launch_gate.hpp"

namespace k2k::backend::gpu {

class ServedKernels final : public ForeignKernels {
 public:
  // The parts of the backend that launches use, too. They outlive this object.
  struct Parts {
    const Driver& driver;
    Memory& memory;
    LaunchGate& gate;
    std::mutex& launching;
    std::atomic<int>& stop;
    const std::function<void()>& on_abandon;
  };
  explicit ServedKernels(const Parts& parts) : parts_(parts) {}
  // With the context current.
  ~ServedKernels() override { forget_contexts(); }

  Status begin() override;
  Result<std::uint64_t> context() override;
  Status end() override;
  [[nodiscard]] bool serves() const { return serves_; }

 private:
  using Told = std::vector<device::platform::SharedRange>;
  Result<std::uint64_t> write_context(const Told& told, const Memory::RangeCounts& counts);
  Status sweep_all();
  void forget_contexts();

  const Parts parts_;
  bool serves_ = false;
  std::optional<KernelRuns> runs_;    // While it serves: memory of retired regions is kept.
  std::vector<std::byte*> contexts_;  // The last one is in force.
  Told told_;                         // Its ranges.
};

}  // namespace k2k::backend::gpu
