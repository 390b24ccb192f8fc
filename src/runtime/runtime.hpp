#pragma once
// The façade: a device, a server and their configuration as one object.
//
//   k2k::Result<k2k::Runtime> runtime = k2k::Runtime::create({});
//   runtime->launch({.groups = 8, .group_items = 64}, [=] K2K_DEVICE { ... });
//   runtime->drain();
//
// Threading: every member may be called from any thread; launches run one after the other.
// Several runtimes may live in one process. After fork() the child's copy answers EPERM.

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/backend.hpp"
#include "backend/device_config.hpp"
#include "base/api.hpp"
#include "base/result.hpp"
#include "server/config.hpp"
#include "server/stats.hpp"

namespace k2k {

using backend::DeviceInfo;
using backend::LaunchReport;
using backend::LaunchShape;

struct RuntimeConfig {
  std::string backend = "cpu";  // A name backends() lists.
  backend::DeviceConfig device;
  server::ServerConfig server;
};

class K2K_API Runtime {
 public:
  // Builds device and server and starts to serve.
  // Errors: EINVAL (a value and its permitted range), ENODEV (unknown backend), ENOMEM, EAGAIN
  // (no thread could be started).
  static Result<Runtime> create(const RuntimeConfig& config);

  // Drains for at most server.shutdown_ms, then ends. Calls still in flight then are abandoned.
  ~Runtime();
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;

  // Names of the backends in this build.
  static std::vector<std::string> backends();

  // Runs `body` once a work-item and waits for its end. The kernel carries the protocol version
  // and layout it was compiled with; a library that differs refuses it (EPROTO, naming both).
  // Errors: those of backend::Backend::launch.
  template <class Kernel>
  Result<LaunchReport> launch(const LaunchShape& shape, const Kernel& body,
                              const char* name = "kernel") {
    backend::KernelImage image;
    image.entry = [](const void* closure) { (*static_cast<const Kernel*>(closure))(); };
    image.closure = &body;
    image.name = name;
    return launch_image(shape, image);
  }
  Result<LaunchReport> launch_image(const LaunchShape& shape, const backend::KernelImage& image);

  // Ends the launch in progress, if any. Async-signal-safe.
  void cancel() noexcept;

  // Returns once every call published so far was answered, detached ones included, and hands over
  // the errors of detached calls. Errors: EPERM (after fork).
  Result<std::vector<server::DetachedError>> drain();

  // Device memory, zeroed. Errors: ENOMEM.
  Result<void*> allocate(std::size_t bytes);
  void free(void* address);

  [[nodiscard]] const DeviceInfo& device() const;
  [[nodiscard]] const protocol::AreaView& area() const;
  [[nodiscard]] server::Stats stats() const;

  // Changes how requests are served without losing one. Errors: EINVAL; nothing changed then.
  Status reconfigure(const server::ServerConfig& config);
  [[nodiscard]] server::ServerConfig server_config() const;

 private:
  struct State;
  explicit Runtime(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace k2k
