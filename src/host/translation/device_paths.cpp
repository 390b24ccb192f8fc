#include "host/translation/device_paths.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace k2k::host {

namespace {

namespace fs = std::filesystem;

// The names in a folder, sorted. Empty: there is none.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// The first word of a small file. Empty: it cannot be read.
std::string word_of(const fs::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

// A number that is the whole text, or ends at a colon.
std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  text = text.substr(0, text.find(':'));
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

Known bit_of(std::optional<std::uint64_t> word, unsigned bit) {
  if (!word) return {};
  return (*word >> bit & 1) != 0;
}

std::string target_of(const fs::path& link) {
  std::error_code ignored;
  return fs::read_symlink(link, ignored).filename().string();
}

Iommu iommu_of(const fs::path& folder) {
  Iommu unit{folder.filename().string(), {}, {}};
  // Intel: the extended capability register (VT-d, at 10h): PRS, PASID.
  if (const auto ecap = hexadecimal(word_of(folder / "intel-iommu/ecap"))) {
    unit.page_requests = bit_of(ecap, 29);
    unit.process_tables = bit_of(ecap, 40);
  }
  // AMD: the extended feature register (at 0030h): PPRSup, GTSup. Newer kernels append ":" and its
  // second half.
  if (const auto features = hexadecimal(word_of(folder / "amd-iommu/features"))) {
    unit.page_requests = bit_of(features, 1);
    unit.process_tables = bit_of(features, 4);
  }
  return unit;
}

// Which of these functions the kernel has; all empty if it does not list its functions.
void find_functions(const fs::path& symbols, const std::map<std::string_view, Known*>& wanted) {
  std::ifstream file(symbols);
  std::string line;
  bool any = false;
  std::size_t left = wanted.size();
  while (left != 0 && std::getline(file, line)) {  // "ffffffff81000000 T hmm_range_fault [module]"
    std::string_view rest = line;
    for (int field = 0; field < 2; ++field) {
      rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
    }
    any = any || !rest.empty();
    const auto found = wanted.find(rest.substr(0, rest.find_first_of(" \t")));
    if (found == wanted.end() || *found->second) continue;
    *found->second = true;
    --left;
  }
  for (const auto& [name, known] : wanted) {
    if (any && !*known) *known = false;
  }
}

bool is_accelerator(const std::string& pci_class) {
  const auto value = hexadecimal(pci_class);
  constexpr std::uint64_t display = 0x03;
  constexpr std::uint64_t processing = 0x12;
  return value && (*value >> 16 == display || *value >> 16 == processing);
}

std::string id_of(const fs::path& path) {
  const std::string word = word_of(path);
  return word.starts_with("0x") ? word.substr(2) : word;
}

Accelerator accelerator_of(const fs::path& folder) {
  Accelerator device;
  device.address = folder.filename().string();
  device.ids = id_of(folder / "vendor") + ":" + id_of(folder / "device");
  device.driver = target_of(folder / "driver");
  device.group = word_of(folder / "iommu_group/type");
  std::ifstream file(folder / "config", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto found =
      capabilities_of({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
  device.ats = found.ats;
  device.pri = found.pri;
  device.pasid = found.pasid;
  return device;
}

}  // namespace

TranslationCapabilities capabilities_of(std::span<const unsigned char> config_space) {
  constexpr std::size_t first = 0x100;
  constexpr std::uint32_t ats = 0x0f;
  constexpr std::uint32_t pri = 0x13;
  constexpr std::uint32_t pasid = 0x1b;
  const auto head_at = [&](std::size_t at) {
    return config_space[at] | static_cast<std::uint32_t>(config_space[at + 1]) << 8 |
           static_cast<std::uint32_t>(config_space[at + 2]) << 16 |
           static_cast<std::uint32_t>(config_space[at + 3]) << 24;
  };
  if (config_space.size() < first + 4) return {};
  TranslationCapabilities found{false, false, false};
  // A damaged list may be a circle; no list is longer than the space has heads.
  std::size_t left = (config_space.size() - first) / 4;
  for (std::size_t at = first; at >= first && at + 4 <= config_space.size() && left-- > 0;) {
    const std::uint32_t head = head_at(at);  // Version in bits 16 to 19, the next one above.
    const std::uint32_t id = head & 0xffff;
    if (id == ats) found.ats = true;
    if (id == pri) found.pri = true;
    if (id == pasid) found.pasid = true;
    at = head >> 20 & ~std::uint32_t{3};
  }
  return found;
}

DevicePaths device_paths(const std::string& root) {
  const fs::path top = root + "/";
  DevicePaths paths;
  const fs::path units = top / "sys/class/iommu";
  for (const std::string& name : names_in(units)) paths.iommus.push_back(iommu_of(units / name));
  const fs::path groups = top / "sys/kernel/iommu_groups";
  for (const std::string& name : names_in(groups)) {
    const std::string type = word_of(groups / name / "type");
    ++paths.groups[type.empty() ? "unknown" : type];
  }
  find_functions(top / "proc/kallsyms", {{"iommu_sva_bind_device", &paths.kernel_sva},
                                         {"pci_enable_pri", &paths.kernel_pri},
                                         {"hmm_range_fault", &paths.kernel_hmm}});
  const std::string off = word_of(top / "sys/module/nvidia_uvm/parameters/uvm_disable_hmm");
  if (!off.empty()) paths.nvidia_hmm = off == "N" || off == "0";
  const fs::path devices = top / "sys/bus/pci/devices";
  for (const std::string& name : names_in(devices)) {
    if (!is_accelerator(word_of(devices / name / "class"))) continue;
    paths.accelerators.push_back(accelerator_of(devices / name));
  }
  return paths;
}

}  // namespace k2k::host
