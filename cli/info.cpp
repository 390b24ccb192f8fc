// k2k info: the device that the configuration describes, and the memory that it takes.

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.hpp"
#include "cli/text_table.hpp"
#include "host/translation/device_paths.hpp"
#include "host/translation/large_pages.hpp"
#include "host/translation/tlbs.hpp"
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

// What the CPU says of its TLBs; `k2k lab translation` measures them.
ordered_json describe(const host::Tlbs& seen) {
  ordered_json tlbs = ordered_json::array();
  for (const host::Tlb& tlb : seen.all) {
    tlbs.push_back({{"level", tlb.level},
                    {"use", host::name_of(tlb.use)},
                    {"pages", host::names_of_pages(tlb.pages)},
                    {"entries", tlb.entries},
                    {"ways", tlb.ways != 0 ? ordered_json(tlb.ways) : ordered_json()}});
  }
  return {{"source", seen.source},
          {"tlbs", tlbs},
          {"not_reported", host::names_of_pages(seen.not_reported)},
          {"note", seen.note}};
}

using Rows = std::vector<std::vector<std::string>>;

void add_tlbs(const host::Tlbs& seen, Rows& rows) {
  if (seen.all.empty()) {
    rows.push_back({"TLBs", "not reported: the CPU, or the hypervisor, hides them"});
    return;
  }
  rows.push_back({"TLBs", "reported by " + seen.source});
  std::string before;
  for (const host::Tlb& tlb : seen.all) {
    const std::string name = fmt::format("  level {}, {}", tlb.level, host::name_of(tlb.use));
    const std::string ways = tlb.ways == 0             ? ""
                             : tlb.ways == tlb.entries ? ", fully associative"
                                                       : fmt::format(", {} ways", tlb.ways);
    rows.push_back({name == before ? "" : name,
                    fmt::format("{} entries for pages of {}{}", tlb.entries,
                                fmt::join(host::names_of_pages(tlb.pages), ", "), ways)});
    before = name;
  }
  if (seen.not_reported != 0) {
    rows.push_back(
        {"  not reported", fmt::format("those for pages of {}",
                                       fmt::join(host::names_of_pages(seen.not_reported), ", "))});
  }
  if (!seen.note.empty()) rows.push_back({"  doubt", seen.note});
}

ordered_json json_of(host::Known known) { return known ? ordered_json(*known) : ordered_json(); }
const char* text_of(host::Known known) { return !known ? "unknown" : *known ? "yes" : "no"; }

ordered_json describe(const host::DevicePaths& seen) {
  ordered_json iommus = ordered_json::array();
  for (const host::Iommu& unit : seen.iommus) {
    iommus.push_back({{"name", unit.name},
                      {"page_requests", json_of(unit.page_requests)},
                      {"process_tables", json_of(unit.process_tables)}});
  }
  ordered_json accelerators = ordered_json::array();
  for (const host::Accelerator& device : seen.accelerators) {
    accelerators.push_back({{"address", device.address},
                            {"ids", device.ids},
                            {"driver", device.driver},
                            {"iommu_group_type", device.group},
                            {"ats", json_of(device.ats)},
                            {"pri", json_of(device.pri)},
                            {"pasid", json_of(device.pasid)}});
  }
  return {{"iommus", iommus},
          {"iommu_groups", seen.groups},
          {"kernel_sva", json_of(seen.kernel_sva)},
          {"kernel_pri", json_of(seen.kernel_pri)},
          {"kernel_hmm", json_of(seen.kernel_hmm)},
          {"nvidia_hmm", json_of(seen.nvidia_hmm)},
          {"accelerators", accelerators}};
}

void add_device_paths(const host::DevicePaths& seen, Rows& rows) {
  std::vector<std::string> types;
  for (const auto& [type, count] : seen.groups) types.push_back(fmt::format("{} {}", count, type));
  const std::string groups =
      types.empty() ? "" : fmt::format("; groups of devices: {}", fmt::join(types, ", "));
  rows.push_back({"IOMMU", seen.iommus.empty()
                               ? "none is visible: no unit, or the hypervisor hides it" + groups
                               : fmt::format("{} {}{}", seen.iommus.size(),
                                             seen.iommus.size() == 1 ? "unit" : "units", groups)});
  for (const host::Iommu& unit : seen.iommus) {
    rows.push_back(
        {"  " + unit.name, fmt::format("page requests: {}; page tables of processes: {}",
                                       text_of(unit.page_requests), text_of(unit.process_tables))});
  }
  rows.push_back(
      {"this kernel serves",
       fmt::format("page tables of processes (SVA): {}; page requests (PRI): {}; "
                   "mirrored page tables (HMM): {}",
                   text_of(seen.kernel_sva), text_of(seen.kernel_pri), text_of(seen.kernel_hmm))});
  if (seen.nvidia_hmm)
    rows.push_back({"  nvidia-uvm", *seen.nvidia_hmm ? "uses HMM" : "HMM is off"});
  for (const host::Accelerator& device : seen.accelerators) {
    const bool hidden = !device.ats && !device.pri && !device.pasid;
    const std::string asks = hidden
                                 ? "ATS, PRI, PASID: unknown, root can read them"
                                 : fmt::format("ATS: {}; PRI: {}; PASID: {}", text_of(device.ats),
                                               text_of(device.pri), text_of(device.pasid));
    rows.push_back(
        {"  " + device.address,
         fmt::format("{}, {}; {}; {}", device.ids,
                     device.driver.empty() ? "no driver" : "driver " + device.driver,
                     device.group.empty() ? "no IOMMU group" : "group " + device.group, asks)});
  }
}

template <class T>
ordered_json shown_or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}
ordered_json word_or_null(const std::string& word) {
  return word.empty() ? ordered_json() : ordered_json(word);
}

ordered_json describe(const host::LargePages& seen) {
  ordered_json reserved = ordered_json::array();
  for (const host::ReservedPages& pool : seen.reserved) {
    reserved.push_back({{"page_bytes", pool.bytes},
                        {"total", shown_or_null(pool.total)},
                        {"free", shown_or_null(pool.free)}});
  }
  return {{"transparent",
           {{"page_bytes", shown_or_null(seen.bytes)},
            {"enabled", word_or_null(seen.enabled)},
            {"defrag", word_or_null(seen.defrag)},
            {"shmem_enabled", word_or_null(seen.shmem)}}},
          {"reserved", reserved}};
}

void add_large_pages(const host::LargePages& seen, Rows& rows) {
  const auto word = [](const std::string& one) { return one.empty() ? "unknown" : one; };
  const std::string size = seen.bytes ? " of " + host::name_of_page(*seen.bytes) : "";
  rows.push_back(
      {"huge pages", seen.enabled.empty()
                         ? "transparent ones: none, or Linux does not show it"
                         : fmt::format("transparent{}: {}; defrag: {}; shared memory: {}", size,
                                       seen.enabled, word(seen.defrag), word(seen.shmem))});
  const auto count = [](const std::optional<std::uint64_t>& pages) {
    return pages ? fmt::format("{}", *pages) : std::string("unknown");
  };
  for (const host::ReservedPages& pool : seen.reserved) {
    rows.push_back({"  of " + host::name_of_page(pool.bytes),
                    fmt::format("{} reserved, {} free", count(pool.total), count(pool.free))});
  }
}

struct Translation {
  host::Tlbs tlbs = host::tlbs_here();
  host::LargePages pages = host::large_pages();
  host::DevicePaths devices = host::device_paths();
};

ordered_json describe(const Runtime& runtime, const std::string& backend,
                      const Translation& translation) {
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
      {"cpu_tlbs", describe(translation.tlbs)},
      {"huge_pages", describe(translation.pages)},
      {"device_translation", describe(translation.devices)},
  };
}

std::string info_text(const ordered_json& info, const Translation& translation) {
  const ordered_json& device = info["device"];
  const ordered_json& area = info["syscall_area"];
  const auto bytes = [](const ordered_json& number) { return in_bytes(number.get<std::size_t>()); };
  const auto backends = info["backends"].get<std::vector<std::string>>();
  Rows rows = {
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
  add_tlbs(translation.tlbs, rows);
  add_large_pages(translation.pages, rows);
  add_device_paths(translation.devices, rows);
  return text_table(rows, false);
}

int run_info(const Context& context) {
  const Result<LoadedConfig> loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  const Result<Runtime> runtime = Runtime::create(loaded.value().config);
  if (!runtime) return complain_config(runtime.error());
  const Translation translation;
  const ordered_json info = describe(runtime.value(), loaded.value().config.backend, translation);
  return print(context.json ? info.dump(2) + "\n" : info_text(info, translation));
}

}  // namespace

Command info_command() {
  return {
      .name = "info",
      .summary = "Show the device, the syscall area and their memory",
      .description =
          "Starts a runtime with the current configuration, shows its device, the sizes of the "
          "memory that device and host share, the versions a kernel must match, how much memory "
          "the idle process occupies, the TLBs that the CPU reports, the huge pages that "
          "Linux gives, and by what devices' "
          "addresses are translated: IOMMUs, what this kernel serves (SVA, PRI, HMM), and what "
          "each accelerator asks for. \"unknown\": Linux does not show it here, or not to this "
          "user.",
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
