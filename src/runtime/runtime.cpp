#include "k2k/runtime.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "k2k/memory.hpp"
#include "protocol/area.hpp"
#include "router/door/files.hpp"
#include "runtime/backends.hpp"
#include "runtime/control.hpp"
#include "runtime/descriptor_table.hpp"
#include "runtime/device_file.hpp"
#include "runtime/request_events.hpp"
#include "runtime/serving.hpp"
#include "runtime/settings/config.hpp"
#include "runtime/settings/policy_file.hpp"
#include "server/server.hpp"
#include "services/functions/host_functions.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k {

// Members are destroyed in reverse order: the device file and the control before the server, and
// the server before the device, because it reads the device's memory.
struct Runtime::State {
  pid_t creator = ::getpid();
  std::mutex changing;  // The program and the control socket may reconfigure at once.
  std::unique_ptr<backend::Backend> backend;
  std::shared_ptr<router::Files> files;
  std::shared_ptr<services::HostFunctions> functions;
  std::unique_ptr<server::Server> server;
  std::unique_ptr<runtime::Control> control;
  std::atomic<std::uint64_t> launches{0};            // Ended.
  std::atomic<std::uint32_t> launching{0};           // Running, or waiting for the one that runs.
  std::unique_ptr<runtime::DeviceFile> device_file;  // Null without control.device_file.

  // Threads do not survive fork(): the child has a picture of a runtime, not one.
  [[nodiscard]] bool forked() const { return ::getpid() != creator; }

  // The vendor's memory that allocate() gives: registered, so that files are read straight into it.
  [[nodiscard]] std::optional<MemoryKind> vendor_memory() const {
    const std::string& platform = backend->info().platform;
    if (platform == "cuda") return MemoryKind::cuda;
    if (platform == "hip") return MemoryKind::hip;
    return std::nullopt;
  }

  // Why `member` cannot be used now: after fork(), or by a host function, for which it would wait.
  [[nodiscard]] Status usable(const char* member) const;

  [[nodiscard]] server::Stats stats() const {
    server::Stats stats = server->stats();
    stats.control = control->stats();
    stats.files = files->stats();
    if (device_file != nullptr) stats.control.device_file = device_file->path();
    stats.device = device_stats();
    return stats;
  }
  [[nodiscard]] server::DeviceStats device_stats() const {
    const DeviceInfo& info = backend->info();
    return {.platform = info.platform,
            .compute_units = info.compute_units,
            .wave_lanes = info.wave_lanes,
            .resident_waves = info.resident_waves,
            .group_items_max = info.group_items_max,
            .local_bytes_max = info.local_bytes_max,
            .area_bytes = info.area_bytes,
            .launches = launches.load(),
            .launching = launching.load()};
  }
  void refresh_device_file() {
    if (device_file != nullptr) device_file->refresh();
  }
  Result<LaunchReport> launch(const LaunchShape& shape, const backend::KernelImage& image);
  Status change(const std::function<Status(server::ServerConfig&)>& edit);
  Status start_control(const RuntimeConfig& config);
  Status start_device_file();
};

namespace {
Error forked_error() {
  return {EPERM,
          "this runtime was created before fork() and lives in the parent; create a new one in "
          "the child"};
}

// A device that cannot interrupt is polled, whatever the configuration.
server::ServerConfig fitted(server::ServerConfig config, const backend::Backend& backend) {
  if (!backend.info().interrupts) config.notify = server::Notify::polling;
  return config;
}
}  // namespace

Status Runtime::State::usable(const char* member) const {
  if (forked()) return forked_error();
  if (!functions->runs_here()) return {};
  return Error{EDEADLK, fmt::format("a host function cannot use Runtime::{}() of its own runtime: "
                                    "that would wait for the function itself",
                                    member)};
}

Status Runtime::State::change(const std::function<Status(server::ServerConfig&)>& edit) {
  const std::lock_guard lock(changing);
  server::ServerConfig config = server->config();
  if (Status status = edit(config); !status) return status;
  return server->reconfigure(fitted(std::move(config), *backend));
}

Status Runtime::State::start_control(const RuntimeConfig& config) {
  control = std::make_unique<runtime::Control>(runtime::Control::Subject{
      config, backend->info().name, [this] { return stats(); }, [this] { return server->config(); },
      [this](const auto& edit) { return change(edit); }});
  return control->start();
}

Status Runtime::State::start_device_file() {
  Result<control::Folder> folder = control::own_folder();
  if (!folder) return folder.error();
  auto file = runtime::DeviceFile::create(std::move(folder).value(), [this] { return stats(); });
  if (!file) return file.error();
  device_file = std::move(file).value();
  return {};
}

Result<LaunchReport> Runtime::State::launch(const LaunchShape& shape,
                                            const backend::KernelImage& image) {
  struct Counted {
    explicit Counted(State& of) : state(of) { state.launching.fetch_add(1); }
    ~Counted() {  // Also if the backend threw.
      state.launching.fetch_sub(1);
      state.launches.fetch_add(1);
      state.refresh_device_file();
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    State& state;
  };
  const Counted counted(*this);
  return backend->launch(image, shape);
}

Runtime::Runtime(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runtime::Runtime(Runtime&&) noexcept = default;

Runtime& Runtime::operator=(Runtime&& other) noexcept {
  Runtime ended(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

Runtime::~Runtime() {
  if (state_ == nullptr || !state_->forked()) return;
  // No thread to join, and mutexes may be held by threads that do not exist here.
  static_cast<void>(state_->device_file.release());
  static_cast<void>(state_->control.release());
  static_cast<void>(state_->server.release());
  static_cast<void>(state_->backend.release());
}

std::vector<std::string> Runtime::backends() { return runtime::backend_names(); }

Result<Runtime> Runtime::create(const RuntimeConfig& wanted) {
  RuntimeConfig config = wanted;
  if (config.operator_settings && ::getauxval(AT_SECURE) == 0) {
    if (Status status = apply_operator_settings(config, process_inputs()); !status) {
      return status.error();
    }
  }
  make_room_for_descriptors(descriptors_with_room);  // Before there are threads.
  auto state = std::make_unique<State>();
  auto backend = runtime::create_backend(config.backend, config.device);
  if (!backend) return backend.error();
  state->backend = std::move(backend).value();
  auto files = router::Files::create(config.files, router::RegisteredMemory::of_process());
  if (!files) return files.error();
  state->files = std::move(files).value();
  std::shared_ptr<services::CallRules> rules;
  if (config.server.policy == server::CallPolicy::file) {
    auto read = read_policy(config.server.policy_file);
    if (!read) return read.error();
    rules = std::move(read).value();
  }
  state->functions = std::make_shared<services::HostFunctions>(*state->backend);
  auto server = server::Server::start(
      *state->backend, fitted(config.server, *state->backend),
      {.files = state->files, .functions = state->functions, .rules = std::move(rules)});
  if (!server) return server.error();
  state->server = std::move(server).value();
  if (Status status = state->start_control(config); !status) return status.error();
  if (config.control.device_file) {
    if (Status status = state->start_device_file(); !status) return status.error();
  }
  return Runtime(std::move(state));
}

Result<LaunchReport> Runtime::launch_image(const LaunchShape& shape,
                                           const backend::KernelImage& image) {
  if (image.protocol_version != protocol::version || image.layout_hash != protocol::layout_hash) {
    return Error{EPROTO,
                 fmt::format("kernel '{}' was compiled for K2K protocol {} (layout {:016x}), this "
                             "library speaks protocol {} (layout {:016x}); recompile the kernel "
                             "against this library's headers",
                             image.name, image.protocol_version, image.layout_hash,
                             protocol::version, protocol::layout_hash)};
  }
  if (Status status = state_->usable("launch"); !status) return status.error();
  const DeviceInfo& device = state_->backend->info();
  const std::string& platform = device.platform;
  if (image.platform != platform && !device.runs_kernels) {
    return Error{ENOEXEC,
                 fmt::format("kernel '{}' was compiled for {}, this runtime's device, the {}, runs "
                             "no kernels; set backend = \"{}\"",
                             image.name, image.platform, device.name, image.platform)};
  }
  if (image.platform != platform) {
    return Error{ENOEXEC,
                 fmt::format("kernel '{}' was compiled for {}, this runtime's device runs kernels "
                             "for {}; set backend = \"{}\", or compile the kernel for {}",
                             image.name, image.platform, platform, image.platform, platform)};
  }
  try {
    return state_->launch(shape, image);
  } catch (const std::bad_alloc&) {
    return Error{ENOMEM, "out of memory"};  // The text is short enough to need no allocation.
  }
}

Status Runtime::provide_function(services::HostFunction function) {
  if (Status status = state_->usable("provide"); !status) return status;
  return state_->functions->add(std::move(function));
}
Status Runtime::withdraw(const std::string& name) {
  if (Status status = state_->usable("withdraw"); !status) return status;
  return state_->functions->remove(name);
}

void Runtime::cancel() noexcept { state_->backend->cancel(); }

Result<std::vector<server::DetachedError>> Runtime::drain() {
  if (Status status = state_->usable("drain"); !status) return status.error();
  auto errors = state_->server->drain();
  state_->refresh_device_file();
  return errors;
}

// Reads into memory that cannot be registered go through the arena, in parts (decision 0003).
Result<void*> Runtime::allocate(std::size_t bytes) {
  if (state_->forked()) return forked_error();
  Result<void*> memory = state_->backend->allocate(bytes);
  if (const std::optional<MemoryKind> kind = state_->vendor_memory(); memory && kind) {
    static_cast<void>(register_memory(memory.value(), bytes, *kind).ok());
  }
  return memory;
}
void Runtime::free(void* address) {
  if (state_->forked()) return;
  if (address != nullptr && state_->vendor_memory()) {
    static_cast<void>(unregister_memory(address).ok());
  }
  state_->backend->free(address);
}

Result<void*> Runtime::allocate_shared(std::size_t bytes) {
  if (state_->forked()) return forked_error();
  return state_->backend->allocate_shared(bytes);
}
void Runtime::free_shared(void* address) {
  if (!state_->forked()) state_->backend->free_shared(address);
}
Status Runtime::copy(void* to, const void* from, std::size_t bytes) {
  if (state_->forked()) return forked_error();
  return state_->backend->copy(to, from, bytes);
}

Result<backend::RegionHandle> Runtime::create_region(const backend::RegionPlan& plan) {
  if (state_->forked()) return forked_error();
  return state_->backend->create_region(plan);
}

const DeviceInfo& Runtime::device() const { return state_->backend->info(); }
const protocol::AreaView& Runtime::area() const { return state_->backend->area(); }
server::Stats Runtime::stats() const {
  return state_->forked() ? server::Stats{} : state_->stats();
}

Status Runtime::reconfigure(const server::ServerConfig& config) {
  if (Status status = state_->usable("reconfigure"); !status) return status;
  return state_->change([&](server::ServerConfig& wanted) {
    wanted = config;
    return Status();
  });
}
server::ServerConfig Runtime::server_config() const {
  return state_->forked() ? server::ServerConfig{} : state_->server->config();
}

Result<std::vector<telemetry::Event>> RequestEvents::of(const Runtime& runtime) {
  if (runtime.state_->forked()) return forked_error();
  if (!runtime.state_->server->config().trace) {
    return Error{EINVAL, "this runtime records no events; set server.trace = true"};
  }
  return runtime.state_->server->events();
}

Result<backend::ForeignKernels*> Serving::kernels_of(Runtime& runtime, const char* member) {
  if (Status status = runtime.state_->usable(member); !status) return status.error();
  backend::ForeignKernels* const kernels = runtime.state_->backend->foreign_kernels();
  if (kernels != nullptr) return kernels;
  return Error{ENOTSUP, fmt::format("no other library launches kernels on the device '{}'; set "
                                    "backend = \"cuda\"",
                                    runtime.device().name)};
}

Status Serving::begin(Runtime& runtime) {
  const auto kernels = kernels_of(runtime, "begin_serving");
  return kernels ? kernels.value()->begin() : kernels.error();
}
Result<std::uint64_t> Serving::context(Runtime& runtime) {
  const auto kernels = kernels_of(runtime, "serving_context");
  if (!kernels) return kernels.error();
  return kernels.value()->context();
}
Status Serving::end(Runtime& runtime) {
  const auto kernels = kernels_of(runtime, "end_serving");
  return kernels ? kernels.value()->end() : kernels.error();
}

}  // namespace k2k
