#include "runtime/runtime.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/backends.hpp"
#include "server/server.hpp"

namespace k2k {

// The server is declared last: it ends before the device whose memory it reads.
struct Runtime::State {
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<server::Server> server;
  pid_t creator = ::getpid();

  // Threads do not survive fork(): the child has a picture of a runtime, not one.
  [[nodiscard]] bool forked() const { return ::getpid() != creator; }
};

namespace {
Error forked_error() {
  return {EPERM,
          "this runtime was created before fork() and lives in the parent; create a new one in "
          "the child"};
}

// A device that cannot interrupt is polled, whatever was wished for.
server::ServerConfig fitted(server::ServerConfig config, const backend::Backend& backend) {
  if (!backend.info().interrupts) config.notify = server::Notify::polling;
  return config;
}
}  // namespace

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
  static_cast<void>(state_->server.release());
  static_cast<void>(state_->backend.release());
}

std::vector<std::string> Runtime::backends() { return runtime::backend_names(); }

Result<Runtime> Runtime::create(const RuntimeConfig& config) {
  auto state = std::make_unique<State>();
  auto backend = runtime::create_backend(config.backend, config.device);
  if (!backend) return backend.error();
  state->backend = std::move(backend).value();
  auto server = server::Server::start(*state->backend, fitted(config.server, *state->backend));
  if (!server) return server.error();
  state->server = std::move(server).value();
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
  if (state_->forked()) return forked_error();
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
  return state_->backend->launch(image, shape);
}

void Runtime::cancel() noexcept { state_->backend->cancel(); }

Result<std::vector<server::DetachedError>> Runtime::drain() {
  if (state_->forked()) return forked_error();
  return state_->server->drain();
}

Result<void*> Runtime::allocate(std::size_t bytes) {
  if (state_->forked()) return forked_error();
  return state_->backend->allocate(bytes);
}
void Runtime::free(void* address) {
  if (!state_->forked()) state_->backend->free(address);
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

Status Runtime::prepare_faults() {
  if (state_->forked()) return forked_error();
  return state_->backend->prepare_faults();
}

const DeviceInfo& Runtime::device() const { return state_->backend->info(); }
const protocol::AreaView& Runtime::area() const { return state_->backend->area(); }
server::Stats Runtime::stats() const {
  return state_->forked() ? server::Stats{} : state_->server->stats();
}

Status Runtime::reconfigure(const server::ServerConfig& config) {
  if (state_->forked()) return forked_error();
  return state_->server->reconfigure(fitted(config, *state_->backend));
}
server::ServerConfig Runtime::server_config() const {
  return state_->forked() ? server::ServerConfig{} : state_->server->config();
}

}  // namespace k2k
