#include "apps/common/input_run.hpp"

#include <fmt/format.h>

namespace k2k::apps {

namespace {

// Work-items that wait for pages are many, so that others run meanwhile.
constexpr std::uint32_t groups_a_unit = 4;
constexpr std::uint32_t items_on_cpu = 16;
constexpr std::uint32_t items_on_gpu = 128;

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

LaunchShape shape_on(const Runtime& runtime, std::uint32_t groups, std::uint32_t items) {
  const DeviceInfo& device = runtime.device();
  LaunchShape shape;
  shape.groups = groups != 0 ? groups : groups_a_unit * device.compute_units;
  shape.group_items = items != 0 ? items : device.platform == "cpu" ? items_on_cpu : items_on_gpu;
  return shape;
}

void note_taken(InputRun& run) {
  run.take_seconds = run.kernel_seconds;
  run.taken = process_memory_now();
}

void note_end(InputRun& run, const Runtime& runtime, const InputMemory& memory) {
  run.end = process_memory_now();
  run.requests = fault_requests(runtime);
  run.pages = memory.demand_pages();
  run.huge_bytes = memory.huge_bytes();
}

std::string text_of(const InputRun& run) {
  return fmt::format(
      "{:.3f} s: {:.3f} before the first launch, {:.3f} in kernels\n"
      "{:.1f} MiB resident, {:.1f} before; {} pages on demand, {} requests\n",
      run.seconds, run.read_seconds, run.kernel_seconds, mib(run.end.bytes), mib(run.begin.bytes),
      run.pages, run.requests);
}

}  // namespace k2k::apps
