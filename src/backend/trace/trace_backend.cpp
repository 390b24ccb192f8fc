// The trace device as a Backend: a syscall area like any other, and a player of replays
// (player.hpp), which advances whenever a service thread calls.
//
// Threading: launches take turns on a lock; the rest is the player's.

#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backend/cpu/config.hpp"
#include "backend/cpu/device_memory.hpp"
#include "backend/trace/player.hpp"
#include "backend/trace/trace.hpp"

namespace k2k::backend::trace {

namespace {

constexpr const char* platform_name = "trace";

DeviceConfig fitted(DeviceConfig config) {
  if (config.compute_units == 0) config.compute_units = 1;
  config.strict = false;  // All memory is the host's.
  return config;
}

class TraceBackend final : public Backend, private KernelMemory {
 public:
  explicit TraceBackend(const DeviceConfig& config)
      : config_(config),
        // Under one lock it is one thread to the protocol: no locked instructions.
        memory_(config, config.compute_units * config.resident_waves, 1,
                protocol::DeviceScope::one_thread),
        player_(memory_.area()),
        pid_(getpid()) {
    info_.name = "trace-driven accelerator";
    info_.platform = platform_name;
    info_.compute_units = config.compute_units;
    info_.wave_lanes = config.wave_lanes;
    info_.resident_waves = config.compute_units * config.resident_waves;
    info_.area_bytes = memory_.area_bytes();
    info_.halts = true;
    info_.hides_memory = false;
    info_.kernel_memory = this;
    info_.runs_kernels = false;
    info_.capabilities = {{"replays", "traces (k2k lab trace, k2k::Trace)"},
                          {"outstanding requests at most", std::to_string(slots())}};
  }

  [[nodiscard]] bool usable() const { return memory_.usable(); }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const protocol::AreaView& area() const override { return memory_.area(); }

  Result<void*> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void free(void* address) override { memory_.free(address); }

  Result<LaunchReport> launch(const KernelImage& kernel, const LaunchShape&) override {
    if (getpid() != pid_) {
      return Error{EPERM,
                   "the k2k runtime was created before fork(); create a new one in the child"};
    }
    if (kernel.platform != std::string(platform_name)) {
      return Error{EINVAL, "kernel '" + std::string(kernel.name) +
                               "': the trace backend replays traces and runs no kernels; set "
                               "backend = \"cpu\""};
    }
    const auto& replay = *static_cast<const Replay*>(kernel.closure);
    *replay.report = {};
    if (Status fits = check(replay, kernel.name); !fits) return fits.error();
    const std::lock_guard lock(launching_);
    Requests requests;
    if (Status ready = requests.prepare(*replay.source, replay.outstanding); !ready) {
      return ready.error();
    }
    LaunchReport report;
    const Status ended = player_.play(replay, requests, report.elapsed);
    if (!ended) {
      return Error{ended.error().code,
                   "trace '" + std::string(kernel.name) + "': " + ended.error().message};
    }
    return report;
  }

  void cancel() noexcept override { player_.cancel(); }
  [[nodiscard]] bool abandoned() const noexcept override { return player_.abandoned(); }
  void on_abandon(std::function<void()> listener) override {
    player_.on_abandon(std::move(listener));
  }

  void wait_doorbell(const std::uint64_t* positions, Nanoseconds longest) override {
    player_.wait_doorbell(positions, longest);
  }
  LaunchWait wait_launch(const std::uint64_t* positions, Nanoseconds longest) override {
    return player_.wait_launch(positions, longest);
  }
  void wake_server() noexcept override { player_.wake_server(); }
  bool advance() noexcept override { return player_.advance(); }
  void resume(const std::uint32_t* waves, std::size_t count) noexcept override {
    player_.resume(waves, count);
  }

  [[nodiscard]] bool host_may_access(const void* address, std::size_t bytes) const override {
    return memory_.host_may_access(address, bytes);
  }
  [[nodiscard]] bool gave_to_kernels(const void* address, std::size_t bytes,
                                     bool /*only_read*/) const override {
    return memory_.gave_to_kernels(address, bytes);
  }

 private:
  [[nodiscard]] std::uint32_t slots() const {
    return config_.compute_units * config_.resident_waves * config_.wave_lanes;
  }

  [[nodiscard]] Status check(const Replay& replay, const char* name) const {
    const std::string about = "trace '" + std::string(name) + "': ";
    if (replay.outstanding < 1 || replay.outstanding > slots()) {
      return Error{EINVAL, about + "it may have 1 to " + std::to_string(slots()) +
                               " requests outstanding, not " + std::to_string(replay.outstanding) +
                               "; raise device.resident_waves for more"};
    }
    if (replay.longest < Nanoseconds::zero() ||
        (replay.longest == Nanoseconds::zero() && replay.source->endless())) {
      return Error{EINVAL, about + "it has no end of its own; say how long to replay it"};
    }
    return {};
  }

  const DeviceConfig config_;
  cpu::DeviceMemory memory_;
  DeviceInfo info_;
  std::mutex launching_;
  Player player_;
  const pid_t pid_;
};

}  // namespace

Result<std::unique_ptr<Backend>> create(const DeviceConfig& config) {
  const Result<DeviceConfig> full = cpu::complete(fitted(config));
  if (!full) return full.error();
  auto device = std::make_unique<TraceBackend>(full.value());
  if (!device->usable()) {
    return Error{ENOMEM, "the system refuses the address space for " +
                             std::to_string(device->info().resident_waves) +
                             " waves; lower device.resident_waves (see ulimit -v)"};
  }
  return std::unique_ptr<Backend>(std::move(device));
}

KernelImage image_of(const Replay& replay, const char* name) {
  KernelImage image;
  image.closure = &replay;
  image.name = name;
  image.platform = platform_name;
  return image;
}

}  // namespace k2k::backend::trace
