#pragma once
// The door for host programs, C++20: a device, a server and their configuration as one object.
//
//   k2k::Result<k2k::Runtime> runtime = k2k::Runtime::create({});
//   runtime->launch({.groups = 8, .group_items = 64}, [=] K2K_DEVICE { ... });
//   runtime->drain();
//
// Threading: every member may be called from any thread; launches run one after the other.
// Several runtimes may live in one process. After fork() the child's copy answers EPERM.
//
// Doors of their own: demand_region.hpp (memory whose pages come when kernels touch them),
// memory.hpp (memory of a GPU that the program allocated), trace.hpp (requests replayed without
// kernels).

#if __cplusplus < 202002L
#error "<k2k/runtime.hpp> needs C++20: compile with -std=c++20"
#else

#include <cstddef>
#include <k2k/config.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/compiled_for.hpp"
#include "backend/launch.hpp"
#include "base/api.hpp"
#include "base/result.hpp"
#include "server/account/stats.hpp"

namespace k2k::protocol {
struct AreaView;  // protocol/area.hpp
}

namespace k2k {

using backend::DeviceInfo;
using backend::LaunchReport;
using backend::LaunchShape;

class K2K_API Runtime {
 public:
  // Builds device and server and starts to serve. Heeds the environment and the configuration file
  // (`k2k config show` lists them) unless config.operator_settings is false or the
  // program runs set-uid; not while another thread calls setenv(). Errors: EINVAL (a value and its
  // permitted range; an unknown or wrong setting), those of reading the file, ENODEV (unknown
  // backend), ENOMEM, EAGAIN (no thread could be started); with metrics_port, those of
  // control::HttpPage::start(). No control socket is no error: stats() says why there is none.
  static Result<Runtime> create(const RuntimeConfig& config);

  // Drains for at most server.shutdown_ms, then ends. Calls still in flight then are abandoned.
  ~Runtime();
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;

  // Names of the backends in this build.
  static std::vector<std::string> backends();

  // Runs `body` once a work-item and waits for its end. The kernel carries the protocol version
  // and layout it was compiled with; a library that differs refuses it (EPROTO, naming both).
  // Errors: those of backend::Backend::launch; ENOEXEC (compiled for another device).
  // `Platform` is the compiler's, never given by hand: see backend/compiled_for.hpp.
  template <class Kernel, class Platform = backend::CompiledFor>
  Result<LaunchReport> launch(const LaunchShape& shape, const Kernel& body,
                              const char* name = "kernel") {
    return launch_image(shape, Platform::image(body, name));
  }
  Result<LaunchReport> launch_image(const LaunchShape& shape, const backend::KernelImage& image);

  // Ends the launch in progress, if any. Async-signal-safe.
  void cancel() noexcept;

  // Returns once every call published so far was answered, detached ones included, and hands over
  // the errors of detached calls. Errors: EPERM (after fork).
  Result<std::vector<server::DetachedError> > drain();

  // Device memory, zeroed; on a GPU the host reaches it by copy() alone. Errors: ENOMEM.
  Result<void*> allocate(std::size_t bytes);
  void free(void* address);
  // Memory that host and kernels share, zeroed; system calls work on it in place. Errors: ENOMEM.
  Result<void*> allocate_shared(std::size_t bytes);
  void free_shared(void* address);
  // Between any two kinds of memory. Errors: EIO.
  Status copy(void* to, const void* from, std::size_t bytes);

  // By DemandRegion, before the first. Errors: those of backend::Backend::prepare_faults; EPERM.
  Status prepare_faults();

  [[nodiscard]] const DeviceInfo& device() const;
  // What host and device share; of no use to programs. Benchmarks and tests look into it.
  [[nodiscard]] const protocol::AreaView& area() const;
  [[nodiscard]] server::Stats stats() const;

  // Changes how requests are served without losing one. Errors: EINVAL; nothing changed then.
  Status reconfigure(const server::ServerConfig& config);
  [[nodiscard]] server::ServerConfig server_config() const;

 private:
  struct K2K_INTERNAL State;
  K2K_INTERNAL explicit Runtime(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace k2k

#endif
