// Goal: what Linux shows of IOMMUs, of the kernel and of accelerators is read as its documentation
// says, and what it hides is unknown, not absent. Method: trees of hosts, as fixtures.

#include "host/translation/device_paths.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.hpp"

namespace k2k::host {
namespace {

namespace fs = std::filesystem;

class DevicePathsTest : public testing::Test {
 protected:
  void plant(const std::string& path, const std::string& text) const {
    const fs::path whole = root() + "/" + path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }
  void link(const std::string& path, const std::string& to) const {
    const fs::path whole = root() + "/" + path;
    fs::create_directories(whole.parent_path());
    fs::create_symlink(to, whole);
  }
  [[nodiscard]] std::string root() const { return folder_.path(); }
  [[nodiscard]] DevicePaths seen() const { return device_paths(root()); }

 private:
  TemporaryFolder folder_ = TemporaryFolder::create("k2k-paths").value();
};

// A config space with these extended capabilities, one behind the other.
std::string config_with(const std::vector<unsigned>& ids, std::size_t bytes = 4096) {
  std::string space(bytes, '\0');
  for (std::size_t at = 0; at < ids.size(); ++at) {
    const std::size_t here = 0x100 + at * 0x40;
    const std::size_t next = at + 1 == ids.size() ? 0 : here + 0x40;
    const auto head = static_cast<std::uint32_t>(ids[at] | 1u << 16 | next << 20);
    for (unsigned byte = 0; byte < 4; ++byte) {
      space[here + byte] = static_cast<char>(head >> 8 * byte & 0xff);
    }
  }
  return space;
}

TEST_F(DevicePathsTest, of_a_machine_that_shows_nothing_are_unknown) {
  const DevicePaths paths = seen();
  EXPECT_TRUE(paths.iommus.empty());
  EXPECT_TRUE(paths.groups.empty());
  EXPECT_TRUE(paths.accelerators.empty());
  EXPECT_FALSE(paths.kernel_hmm || paths.kernel_pri || paths.kernel_sva || paths.nvidia_hmm);
}

TEST_F(DevicePathsTest, of_an_intel_server_with_a_gpu) {
  plant("sys/class/iommu/dmar0/intel-iommu/ecap", "10020f0f0da\n");  // Bits 29 and 40 are set.
  plant("sys/class/iommu/dmar1/intel-iommu/ecap", "f050da\n");
  plant("sys/kernel/iommu_groups/0/type", "DMA-FQ\n");
  plant("sys/kernel/iommu_groups/1/type", "DMA-FQ\n");
  plant("sys/kernel/iommu_groups/2/type", "identity\n");
  plant("sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n");
  plant("proc/kallsyms",
        "0000000000000000 T hmm_range_fault\n0000000000000000 t not_pci_enable_pri\n"
        "0000000000000000 T iommu_sva_bind_device\t[iommu]\n");
  const std::string gpu = "sys/bus/pci/devices/0000:01:00.0/";
  plant(gpu + "class", "0x030200\n");
  plant(gpu + "vendor", "0x10de\n");
  plant(gpu + "device", "0x2330\n");
  plant(gpu + "config", config_with({0x02, 0x0f, 0x1b}));
  plant(gpu + "iommu_group/type", "DMA-FQ\n");
  link(gpu + "driver", "../../../bus/pci/drivers/nvidia");
  plant("sys/bus/pci/devices/0000:02:00.0/class", "0x010802\n");  // An NVMe controller.

  const DevicePaths paths = seen();
  ASSERT_EQ(paths.iommus.size(), 2u);
  EXPECT_EQ(paths.iommus[0].name, "dmar0");
  EXPECT_EQ(paths.iommus[0].page_requests, Known(true));
  EXPECT_EQ(paths.iommus[0].process_tables, Known(true));
  EXPECT_EQ(paths.iommus[1].page_requests, Known(false));
  EXPECT_EQ(paths.groups, (std::map<std::string, std::uint32_t>{{"DMA-FQ", 2}, {"identity", 1}}));
  EXPECT_EQ(paths.kernel_hmm, Known(true));
  EXPECT_EQ(paths.kernel_sva, Known(true));
  EXPECT_EQ(paths.kernel_pri, Known(false));
  EXPECT_EQ(paths.nvidia_hmm, Known(true));
  ASSERT_EQ(paths.accelerators.size(), 1u);
  const Accelerator& device = paths.accelerators[0];
  EXPECT_EQ(device.address, "0000:01:00.0");
  EXPECT_EQ(device.ids, "10de:2330");
  EXPECT_EQ(device.driver, "nvidia");
  EXPECT_EQ(device.group, "DMA-FQ");
  EXPECT_EQ(device.ats, Known(true));
  EXPECT_EQ(device.pri, Known(false));
  EXPECT_EQ(device.pasid, Known(true));
}

TEST_F(DevicePathsTest, of_amd_units_in_both_forms_of_their_features) {
  plant("sys/class/iommu/ivhd0/amd-iommu/features", "12:0\n");
  plant("sys/class/iommu/ivhd1/amd-iommu/features", "1d\n");
  plant("sys/class/iommu/ivhd2/amd-iommu/features", "features\n");
  const DevicePaths paths = seen();
  ASSERT_EQ(paths.iommus.size(), 3u);
  EXPECT_EQ(paths.iommus[0].page_requests, Known(true));
  EXPECT_EQ(paths.iommus[0].process_tables, Known(true));
  EXPECT_EQ(paths.iommus[1].page_requests, Known(false));
  EXPECT_EQ(paths.iommus[1].process_tables, Known(true));
  EXPECT_EQ(paths.iommus[2].page_requests, Known());
}

TEST_F(DevicePathsTest, of_a_gpu_seen_by_a_user_have_unknown_capabilities) {
  const std::string gpu = "sys/bus/pci/devices/0000:c1:00.0/";
  plant(gpu + "class", "0x120000\n");
  plant(gpu + "config", config_with({}, 256).substr(0, 64));
  const DevicePaths paths = seen();
  ASSERT_EQ(paths.accelerators.size(), 1u);
  EXPECT_EQ(paths.accelerators[0].pri, Known());
  EXPECT_EQ(paths.accelerators[0].driver, "");
  EXPECT_EQ(paths.accelerators[0].group, "");
}

TEST(TranslationCapabilities, of_damaged_lists_end) {
  std::string circle = config_with({0x0f, 0x13});
  circle[0x143] = 0x10;  // The second points to the first.
  circle[0x142] = 0x01;
  const auto bytes = [](const std::string& text) {
    return std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  };
  EXPECT_EQ(capabilities_of(bytes(circle)).pri, Known(true));
  std::string below = config_with({0x0f});
  below[0x103] = 0x04;  // The next one would lie in the first 256 bytes.
  EXPECT_EQ(capabilities_of(bytes(below)).pri, Known(false));
  std::string beyond = config_with({0x0f}, 0x104);
  beyond[0x103] = static_cast<char>(0xff);
  EXPECT_EQ(capabilities_of(bytes(beyond)).ats, Known(true));
  EXPECT_EQ(capabilities_of(bytes(std::string(0x103, '\0'))).ats, Known());
  for (unsigned seed = 0; seed < 200; ++seed) {  // Any bytes.
    std::string any(0x100 + seed * 7, '\0');
    std::uint32_t state = seed + 1;
    for (char& byte : any) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    static_cast<void>(capabilities_of(bytes(any)));
  }
}

}  // namespace
}  // namespace k2k::host
