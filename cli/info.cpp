// k2k info: the device that the configuration describes, and the memory that it takes.

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/text_table.hpp"
#include "k2k/runtime.hpp"
#include "protocol/area.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

// This process' pages in memory now (proc(5), statm). 0 if /proc is missing.
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  std::size_t resident_pages = 0;
  file >> pages >> resident_pages;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct AreaSizes {
  std::size_t slots = 0;
  std::size_t rings = 0;
  std::size_t arena = 0;
};

AreaSizes sizes_of(const protocol::AreaView& area) {
  AreaSizes sizes;
  sizes.slots = sizeof(protocol::Slot) * area.wave_count * area.wave_lanes;
  for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
    sizes.rings += sizeof(protocol::DoorbellEntry) * area.rings[ring].entry_count;
  }
  sizes.arena = std::size_t{protocol::arena_block_bytes} * area.arena_blocks;
  return sizes;
}

ordered_json describe(const Runtime& runtime, const std::string& backend) {
  const DeviceInfo& device = runtime.device();
  const AreaSizes sizes = sizes_of(runtime.area());
  const std::uint64_t items = std::uint64_t{device.resident_waves} * device.wave_lanes;
  ordered_json capabilities = ordered_json::object();
  for (const backend::Capability& each : device.capabilities) capabilities[each.name] = each.value;
  return {
      {"version", K2K_VERSION},
      {"protocol_version", protocol::version},
      {"layout_hash", fmt::format("{:016x}", protocol::layout_hash)},
      {"backend", backend},
      {"backends", Runtime::backends()},
      {"device",
       {{"name", device.name},
        {"compute_units", device.compute_units},
        {"resident_waves", device.resident_waves},
        {"wave_lanes", device.wave_lanes},
        {"resident_work_items", items},
        {"group_items_max", device.group_items_max},
        {"local_bytes_max", device.local_bytes_max},
        {"halts", device.halts},
        {"interrupts", device.interrupts},
        {"reaches_host_pages", device.reaches_host_pages},
        {"capabilities", capabilities}}},
      {"syscall_area",
       {{"bytes", device.area_bytes},
        {"slots_bytes", sizes.slots},
        {"slots", items},
        {"rings", runtime.area().ring_count},
        {"rings_bytes", sizes.rings},
        {"arena_bytes", sizes.arena}}},
      {"service_threads", runtime.stats().threads},
      {"resident_bytes", resident_bytes()},
  };
}

std::string info_text(const ordered_json& info) {
  const ordered_json& device = info["device"];
  const ordered_json& area = info["syscall_area"];
  const auto bytes = [](const ordered_json& number) { return in_bytes(number.get<std::size_t>()); };
  const auto backends = info["backends"].get<std::vector<std::string>>();
  std::vector<std::vector<std::string>> rows = {
      {"k2k", fmt::format("{} (protocol {}, layout {})", K2K_VERSION, protocol::version,
                          info["layout_hash"].get<std::string>())},
      {"backend", fmt::format("{} (this build has: {})", info["backend"].get<std::string>(),
                              fmt::join(backends, ", "))},
      {"device", device["name"].get<std::string>()},
      {"compute units", device["compute_units"].dump()},
      {"resident waves",
       fmt::format("{} of {} lanes", device["resident_waves"].dump(), device["wave_lanes"].dump())},
      {"resident work-items", device["resident_work_items"].dump()},
      {"work-group",
       fmt::format("at most {} work-items, {} of local memory", device["group_items_max"].dump(),
                   bytes(device["local_bytes_max"]))},
      {"syscall area", bytes(area["bytes"])},
      {"  slots", fmt::format("{} (64 B x {})", bytes(area["slots_bytes"]), area["slots"].dump())},
      {"  doorbell rings",
       fmt::format("{} ({} of them)", bytes(area["rings_bytes"]), area["rings"].dump())},
      {"  arena", bytes(area["arena_bytes"])},
      {"service threads", info["service_threads"].dump()},
      {"resident memory",
       fmt::format("{} (this process, runtime idle)", bytes(info["resident_bytes"]))},
  };
  for (const auto& [name, value] : device["capabilities"].items()) {
    rows.push_back({name, value.get<std::string>()});
  }
  return text_table(rows, false);
}

int run_info(const Context& context) {
  const Result<LoadedConfig> loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  const Result<Runtime> runtime = Runtime::create(loaded.value().config);
  if (!runtime) return complain_config(runtime.error());
  const ordered_json info = describe(runtime.value(), loaded.value().config.backend);
  return print(context.json ? info.dump(2) + "\n" : info_text(info));
}

}  // namespace

Command info_command() {
  return {
      .name = "info",
      .summary = "Show the device, the syscall area and their memory",
      .description =
          "Starts a runtime with the current configuration, shows its device, the sizes of the "
          "memory that device and host share, the versions a kernel must match, and how much "
          "memory the idle process occupies.",
      .examples = {{"k2k info", "Show the device of the current configuration."},
                   {"k2k info --device-wave-lanes 64", "Show what another setting would give."},
                   {"k2k info --json | jq .resident_bytes", "One number for a script."}},
      .has_json = true,
      .add = [](CommandLine&, Context& context) -> Run {
        return [&context] { return run_info(context); };
      },
  };
}

}  // namespace k2k::cli
