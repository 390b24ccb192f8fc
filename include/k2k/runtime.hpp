#pragma once
// The interface for host programs, C++20: a device, a server and their configuration as one object.
//
//   k2k::Result<k2k::Runtime> runtime = k2k::Runtime::create({});
//   runtime->launch({.groups = 8, .group_items = 64}, [=] K2K_DEVICE { ... });
//   runtime->drain();
//
// Threading: every member may be called from any thread; launches run one after the other.
// Several runtimes may live in one process. After fork() the child's copy answers EPERM.
//
// Further interfaces: demand_region.hpp (memory with pages that are filled when kernels touch
// them), memory.hpp (GPU memory that the program allocated), trace.hpp (requests replayed without
// kernels).

#if __cplusplus < 202002L
#error "<k2k/runtime.hpp> needs C++20: compile with -std=c++20"
#else

#include <cstddef>
#include <k2k/config.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/compiled_for.hpp"
#include "backend/launch.hpp"
#include "base/api.hpp"
#include "base/result.hpp"
#include "server/account/stats.hpp"
#include "services/functions/host_callable.hpp"

namespace k2k::backend {
struct RegionHandle;  // backend/region.hpp
struct RegionPlan;    // backend/demand_pages.hpp
}  // namespace k2k::backend
namespace k2k::protocol {
struct AreaView;  // protocol/area.hpp
}

namespace k2k {

struct Serving;
struct RequestEvents;

using backend::DeviceInfo;
using backend::LaunchReport;
using backend::LaunchShape;

class K2K_API Runtime {
 public:
  // Builds device and server and starts to serve. Uses the environment and the configuration file
  // (`k2k config show` lists them), unless config.operator_settings is false or the program runs
  // set-uid. Do not call it while another thread calls setenv(). Errors: EINVAL (a value and its
  // permitted range; an unknown or wrong setting), errors of reading the file, ENODEV (unknown
  // backend), ENOMEM, EAGAIN (no thread could be started); with metrics_port, as
  // control::HttpPage::start(). A missing control socket is no error: stats() gives the reason.
  static Result<Runtime> create(const RuntimeConfig& config);

  // Drains for at most server.shutdown_ms, then ends. Calls still in flight then are abandoned.
  ~Runtime();
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;

  // Names of the backends in this build.
  static std::vector<std::string> backends();

  // Runs `body` once per work-item and waits for its end. The kernel carries the protocol version
  // and layout that it was compiled with; a library with other versions refuses it (EPROTO, naming
  // both). Errors: as backend::Backend::launch; ENOEXEC (compiled for another device). Do not pass
  // `Platform`; the compiler determines it (backend/compiled_for.hpp).
  template <class Kernel, class Platform = backend::CompiledFor>
  Result<LaunchReport> launch(const LaunchShape& shape, const Kernel& body,
                              const char* name = "kernel") {
    return launch_image(shape, Platform::image(body, name));
  }
  Result<LaunchReport> launch_image(const LaunchShape& shape, const backend::KernelImage& image);

  // Lets kernels call `function` (k2k::host_call) by this name from now on, kernels that run
  // included. Trivially copyable values, k2k::In, k2k::Out and k2k::InOut are its parameters; it
  // returns void, a trivially copyable value, or a Status or Result of them. Several threads may
  // run it at once. Its exception is an errno for the kernel and a line on stderr. Of this runtime
  // it may use stats(), device(), copy() and cancel(); members that would wait for it answer
  // EDEADLK. Errors: EINVAL (an empty name, one beyond 127 bytes, one that begins with "k2k.", a
  // null function), EEXIST (the name is taken), ENOSPC (256 are provided); EDEADLK; EPERM.
  template <class Function>
  Status provide(const std::string& name, Function function,
                 HostClass host_class = HostClass::may_block) {
    using Type = typename services::HostTypeOf<Function>::Type;
    return provide_function(
        services::HostCallable<Type>::function(name, std::move(function), host_class));
  }
  // The same, checked against the declaration that kernels use.
  template <class Type, class Function>
  Status provide(const HostFunction<Type>& declared, Function function,
                 HostClass host_class = HostClass::may_block) {
    return provide_function(
        services::HostCallable<Type>::function(declared.name, std::move(function), host_class));
  }
  // The same, without types. Errors: also EINVAL (a wrong signature) and EMSGSIZE (too large a
  // one).
  Status provide_function(services::HostFunction function);
  // Kernels that call it get ENOSYS from now on. Returns once no call of it runs: a function that
  // never returns is never withdrawn. Errors: ENOENT; EDEADLK; EPERM.
  Status withdraw(const std::string& name);

  // Ends the launch in progress, if any. A launch that has not begun runs as if nothing had been
  // said: a thread calls it once a work-item has told it that it runs, or repeatedly until launch()
  // returns. Async-signal-safe.
  void cancel() noexcept;

  // Returns once every call published so far was answered, detached calls included, and returns the
  // errors of detached calls. Errors: EPERM (after fork).
  Result<std::vector<server::DetachedError> > drain();

  // Device memory, zeroed; on a GPU the host accesses it only by copy(). Errors: ENOMEM.
  Result<void*> allocate(std::size_t bytes);
  void free(void* address);
  // Memory that host and kernels share, zeroed; system calls work on it in place. Errors: ENOMEM.
  Result<void*> allocate_shared(std::size_t bytes);
  void free_shared(void* address);
  // Between any two kinds of memory. Errors: EIO.
  Status copy(void* to, const void* from, std::size_t bytes);

  // Called by DemandRegion. Errors: as backend::Backend::create_region; EPERM.
  Result<backend::RegionHandle> create_region(const backend::RegionPlan& plan);

  [[nodiscard]] const DeviceInfo& device() const;
  // The memory shared by host and device. Programs do not need it; benchmarks and tests read it.
  [[nodiscard]] const protocol::AreaView& area() const;
  [[nodiscard]] server::Stats stats() const;

  // Changes the server's settings without losing a request. Errors: EINVAL; then nothing has
  // changed.
  Status reconfigure(const server::ServerConfig& config);
  [[nodiscard]] server::ServerConfig server_config() const;

 private:
  friend struct Serving;        // runtime/serving.hpp
  friend struct RequestEvents;  // runtime/request_events.hpp
  struct K2K_INTERNAL State;
  K2K_INTERNAL explicit Runtime(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace k2k

#endif
