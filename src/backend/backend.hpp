#pragma once
// The interface between K2K and a device: memory, launch, waking. No code above it depends on the
// kind of device.
//
//   server  ── wait_doorbell, resume ──▶  Backend  ◀── launch, memory ──  runtime
//
// A backend knows nothing of the server. The server polls the rings of area() itself and calls
// down.
//
// Threading: every member may be called from any thread; launch() blocks its caller and launches
// from several threads run one after the other.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/device_config.hpp"
#include "backend/foreign_kernels.hpp"
#include "backend/kernel_image.hpp"
#include "backend/launch.hpp"
#include "backend/region.hpp"
#include "base/ranges.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "protocol/area.hpp"
#include "telemetry/snapshots.hpp"

namespace k2k::backend {

// The answer of wait_launch().
enum class LaunchWait : std::uint8_t {
  in_progress,  // It did not wait: a kernel runs.
  began,        // A launch began while it waited.
  none,         // No kernel runs.
};

// For wait_doorbell: another thread polls this ring.
inline constexpr std::uint64_t any_position = ~std::uint64_t{0};

// Serves requests on the threads of a device's own units (Backend::serve_inline).
class InlineService {
 public:
  enum class Found : std::uint8_t {
    nothing,  // No doorbell was rung.
    busy,     // Another thread serves some of the doorbells, perhaps all that were rung.
    served,   // At least one request.
  };
  InlineService() = default;
  virtual ~InlineService() = default;
  InlineService(const InlineService&) = delete;
  InlineService& operator=(const InlineService&) = delete;

  enum class Reach : std::uint8_t {
    own,  // The doorbells that this unit rings, and others that share their ring.
    all,
  };
  // By the thread of `unit`, between two work-items: serves requests whose doorbells were rung.
  // Calls that may sleep are left to the server's own threads.
  virtual Found serve(std::uint32_t unit, Reach reach) noexcept = 0;
  // By the same thread, before it sleeps or ends a launch.
  virtual void rest(std::uint32_t unit) noexcept = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  [[nodiscard]] virtual const protocol::AreaView& area() const = 0;

  // Device memory, zeroed, 64-byte aligned. Errors: ENOMEM.
  virtual Result<void*> allocate(std::size_t bytes) = 0;
  // Accepts nullptr. Expects an address from allocate().
  virtual void free(void* address) = 0;

  // Memory that host and device both read and write, zeroed, 64-byte aligned; system calls work on
  // it in place. Errors: ENOMEM.
  virtual Result<void*> allocate_shared(std::size_t bytes) { return allocate(bytes); }
  // Accepts nullptr. Expects an address from allocate_shared().
  virtual void free_shared(void* address) { free(address); }
  // Copies between any of: device memory, shared memory, the host's own. Errors: EIO.
  virtual Status copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return {};
  }

  // Runs the kernel to its end. Errors:
  //   EINVAL     shape outside the limits of info()
  //   EDEADLK    every remaining work-item waits for another; the message names them
  //   EIO        the kernel threw an exception, or the device refused; the message carries its text
  //   ECANCELED  cancel() was called
  //   EBUSY      foreign_kernels() serve
  virtual Result<LaunchReport> launch(const KernelImage& kernel, const LaunchShape& shape) = 0;

  // Ends the launch in progress, if any, as soon as its work-items next yield, wait or meet a
  // barrier. Async-signal-safe.
  virtual void cancel() noexcept = 0;

  // True from the moment a launch ends early (cancelled, or one of the errors above) until the next
  // launch begins: no work-item will take the answers of calls that are not detached.
  [[nodiscard]] virtual bool abandoned() const noexcept = 0;
  // `listener` is called by launch() when a launch ends early, before it waits for the calls in
  // flight. Set it while none is in progress; an empty one takes it back.
  virtual void on_abandon(std::function<void()> listener) = 0;

  // Blocks until a doorbell has been rung since `positions` (one a ring: RingConsumer::position, or
  // any_position for a ring the caller does not serve), wake_server() was called, or `longest` has
  // passed.
  virtual void wait_doorbell(const std::uint64_t* positions, Nanoseconds longest) = 0;
  // While no launch is in progress no doorbell rings: blocks until one begins, wake_server() was
  // called, or `longest` has passed. Does not wait where a launch is in progress, a doorbell is
  // there that `positions` (as above) do not know, or this backend cannot tell.
  [[nodiscard]] virtual LaunchWait wait_launch(const std::uint64_t* /*positions*/,
                                               Nanoseconds /*longest*/) {
    return LaunchWait::in_progress;
  }
  // Ends a wait_doorbell() or wait_launch(). Async-signal-safe.
  virtual void wake_server() noexcept = 0;

  // A server that looks for doorbells and finds none calls this now and then: a device without a
  // thread of its own moves on here, in wait_doorbell() and in resume(). True if it may have rung.
  // Cheap.
  virtual bool advance() noexcept { return false; }

  // Does a part of the device run on the CPU that the caller is on? A server that finds nothing
  // gives it away at once. Cheap.
  [[nodiscard]] virtual bool waits_for_this_core() const noexcept { return false; }

  // From now on the device's units call `service` between work-items. nullptr ends that; when this
  // returns, no unit is inside, unless its call in Linux does not end. Expects
  // DeviceInfo::serves_inline, and one caller at a time.
  virtual void serve_inline(InlineService* /*service*/) {}

  // Slots of these rows were completed: halted lanes look again, and a sleeping unit wakes.
  // Called after the completing stores; takes care of the ordering towards the sleeper itself.
  virtual void resume(const std::uint32_t* waves, std::size_t count) noexcept = 0;

  // Memory with pages that are brought in when a kernel first accesses them: by requests
  // (demand_pages.hpp), or by the device itself (device_regions.hpp). Return it with
  // retire_region(); it may outlive the device. Errors: those of the two; also
  //   ENOTSUP  the device cannot fault
  //   EINVAL   a work-item's stack is too small for a fault; the message names the least
  virtual Result<RegionHandle> create_region(const RegionPlan&) {
    return Error{ENOTSUP, "the device '" + info().name +
                              "' has no page faults; demand-paged regions need backend = \"cpu\""};
  }
  // The times of work-items' faults that became requests, since the device was made.
  [[nodiscard]] virtual telemetry::RequestReport fault_report() const { return {}; }
  // Likewise of the calls that a work-item waited for, as far as the device knows: initialisation,
  // completion and total. Empty where the clocks of host and device cannot be compared.
  [[nodiscard]] virtual telemetry::RequestReport call_report() const { return {}; }

  // Memory that the server takes by its address in reads and writes of files, whether or not the
  // host may touch it: registered memory (router/door/files.hpp). Null: none. Kept until it is
  // replaced; not while a launch is in progress.
  virtual void set_registered(const Ranges* /*ranges*/) {}

  // Null: no other library can launch kernels on this device.
  [[nodiscard]] virtual ForeignKernels* foreign_kernels() { return nullptr; }

  // May the server touch these bytes for a system call? False for device memory the host cannot
  // reach (on the cpu backend only when strict).
  [[nodiscard]] virtual bool host_may_access(const void* address, std::size_t bytes) const = 0;
};

}  // namespace k2k::backend
