#include "apps/miniamr/amr.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "apps/common/device_blocks.hpp"
#include "base/clock.hpp"

namespace k2k::miniamr {

namespace {

constexpr std::uint32_t items_on_cpu = 16;
constexpr std::uint32_t items_on_gpu = 1'024;

// Addresses of the whole mesh; pages come with their first value, and go with madvise(2).
class MeshMemory {
 public:
  static Result<MeshMemory> create(std::size_t bytes) {
    void* const values = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (values == MAP_FAILED) {
      const int error = errno;
      return Error{error, fmt::format("cannot map {} bytes for the mesh ({}); take fewer --roots",
                                      bytes, std::strerror(error))};
    }
    // A huge page would keep the memory of dead blocks beside living ones.
    ::madvise(values, bytes, MADV_NOHUGEPAGE);
    return MeshMemory(static_cast<Value*>(values), bytes);
  }
  ~MeshMemory() {
    if (values_ != nullptr) ::munmap(values_, bytes_);
  }
  MeshMemory(MeshMemory&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)), bytes_(other.bytes_) {}
  MeshMemory& operator=(MeshMemory&&) = delete;
  MeshMemory(const MeshMemory&) = delete;
  MeshMemory& operator=(const MeshMemory&) = delete;
  [[nodiscard]] Value* values() const { return values_; }

 private:
  MeshMemory(Value* values, std::size_t bytes) : values_(values), bytes_(bytes) {}
  Value* values_;
  std::size_t bytes_;
};

std::uint64_t resident_now() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t whole = 0;
  std::uint64_t resident = 0;
  statm >> whole >> resident;
  return resident * 4096;
}

Status fill_job(Runtime& runtime, apps::DeviceBlocks& blocks, const Settings& settings, Job& job) {
  const std::uint32_t roots = job.mesh.roots();
  const auto fine = blocks.shared(roots);
  const auto dirty = blocks.shared(2 * std::size_t{roots});
  const auto resident = blocks.shared(settings.steps * sizeof(std::uint64_t));
  const auto returned = blocks.shared(3 * sizeof(std::uint64_t));
  for (const auto* const each : {&fine, &dirty, &resident, &returned}) {
    if (!*each) return each->error();
  }
  const auto texts = apps::place_texts(runtime, blocks, {"/proc/self/statm"}, false);
  if (!texts) return texts.error();
  job.mesh.fine = static_cast<std::uint8_t*>(*fine);
  job.dirty = static_cast<std::uint8_t*>(*dirty);
  job.resident = static_cast<std::uint64_t*>(*resident);
  job.returned = static_cast<std::uint64_t*>(*returned);
  job.statm = (*texts)[0];
  return {};
}

}  // namespace

Result<Outcome> simulate(const Settings& settings, const RuntimeConfig& config) {
  Outcome outcome;
  if (settings.by == By::serial) {
    const Instant begin = now();
    outcome.checksum = serial_checksum(settings);
    outcome.seconds = seconds_since(begin);
    return outcome;
  }
  outcome.resident_begin = resident_now();
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  const DeviceInfo& device = runtime->device();
  if (!device.reaches_host_pages) {
    return Error{ENOTSUP, fmt::format("the device '{}' does not reach pages of mmap(2); set "
                                      "--backend cpu",
                                      device.name)};
  }
  Job job;
  job.mesh.roots_a_side = settings.roots_a_side;
  job.steps = settings.steps;
  job.period = settings.period;
  job.watermark = settings.watermark;
  const Result<MeshMemory> memory = MeshMemory::create(job.mesh.roots() * root_bytes);
  if (!memory) return memory.error();
  job.mesh.values = memory->values();
  apps::DeviceBlocks blocks(*runtime);
  if (Status filled = fill_job(*runtime, blocks, settings, job); !filled) return filled.error();
  const std::uint32_t usual = device.platform == "cpu" ? items_on_cpu : items_on_gpu;
  const Instant begin = now();
  const auto report = launch_steps(
      *runtime, {.groups = 1, .group_items = settings.items != 0 ? settings.items : usual},
      settings.by == By::direct ? Calls::direct : Calls::wrapped, job);
  if (!report) return report.error();
  outcome.seconds = seconds_since(begin);
  if (job.returned[2] != 0) {
    const auto error = static_cast<int>(job.returned[2]);
    return Error{error, fmt::format("the kernel could not read /proc/self/statm ({}); mount /proc, "
                                    "and let the policy permit it",
                                    std::strerror(error))};
  }
  outcome.resident.assign(job.resident, job.resident + settings.steps);
  outcome.returned = job.returned[0];
  outcome.failed = job.returned[1];
  outcome.checksum = checksum(job.mesh, settings.steps & 1);
  return outcome;
}

}  // namespace k2k::miniamr
