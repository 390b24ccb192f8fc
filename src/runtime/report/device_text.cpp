#include "runtime/report/device_text.hpp"

#include <fmt/format.h>

namespace k2k {

std::string to_device_text(const server::Stats& stats, std::uint64_t sequence) {
  const server::DeviceStats& device = stats.device;
  std::string text = fmt::format("sequence {}\n", sequence);
  const auto line = [&](const char* name, std::uint64_t value) {
    text += fmt::format("{} {}\n", name, value);
  };
  text += fmt::format("platform {}\n", device.platform);
  line("compute_units", device.compute_units);
  line("wave_lanes", device.wave_lanes);
  line("resident_waves", device.resident_waves);
  line("group_items_max", device.group_items_max);
  line("local_bytes_max", device.local_bytes_max);
  line("area_bytes", device.area_bytes);
  line("launches", device.launches);
  line("launching", device.launching);
  line("requests", stats.requests);
  line("in_flight", stats.in_flight);
  line("refused", stats.refused);
  line("doorbells", stats.doorbells);
  line("wakes", stats.wakes);
  line("parks", stats.parks);
  line("rescued", stats.rescued);
  line("hand_offs", stats.hand_offs);
  line("takeovers", stats.takeovers);
  line("threads", stats.threads);
  // Stalls: the governor let requests wait.
  line("governor.waits", stats.governor.waits);
  line("governor.throttled_us", static_cast<std::uint64_t>(stats.governor.throttled_seconds * 1e6));
  line("faults", stats.faults.count());
  line("fault_ranges", stats.fault_ranges);
  line("calls", stats.calls.size());
  const std::string end = fmt::format("end {}\n", sequence);
  for (const server::CallStats& call : stats.calls) {
    const std::string one = fmt::format("call {} {} {}\n", call.name, call.count, call.errors);
    if (text.size() + one.size() + end.size() > device_text_bytes) break;
    text += one;
  }
  text += end;
  text.resize(device_text_bytes, '\n');
  return text;
}

}  // namespace k2k
