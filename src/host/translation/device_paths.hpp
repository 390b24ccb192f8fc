#pragma once
// By what devices' addresses are translated on this machine, as far as Linux shows it: IOMMUs and
// their groups, what the running kernel can serve, and what each accelerator asks for.
//
//   /sys/class/iommu/NAME/           units; Intel's ecap and AMD's features tell what they can
//   /sys/kernel/iommu_groups/N/type  DMA, DMA-FQ, DMA-SVA, identity, …
//   /proc/kallsyms                   functions that exist only where the kernel was built with them
//   /sys/bus/pci/devices/ADDRESS/    class, driver, group; ATS, PRI and PASID in its config space,
//                                    which only root reads beyond 64 bytes
//
// Threading: pure functions of the files that they read.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace k2k::host {

// Empty: Linux does not show it here.
using Known = std::optional<bool>;

struct Iommu {
  std::string name;  // "dmar0", "ivhd0", "smmu3.0x…"
  Known page_requests;
  Known process_tables;  // Translation by a process' page table, by PASID.
};

struct Accelerator {
  std::string address;  // "0000:01:00.0"
  std::string ids;      // "10de:2330", vendor and device.
  std::string driver;   // Empty: none is bound.
  std::string group;    // The type of its IOMMU group; empty: it is in none.
  Known ats;            // Asks the IOMMU for translations and caches them.
  Known pri;            // Asks for missing pages.
  Known pasid;          // Tells address spaces apart.
};

struct DevicePaths {
  std::vector<Iommu> iommus;
  std::map<std::string, std::uint32_t> groups;  // By type.
  Known kernel_sva;  // A device may use a process' page table (iommu_sva_bind_device).
  Known kernel_pri;  // Page requests of PCIe devices are served (pci_enable_pri).
  Known kernel_hmm;  // A driver may mirror a process' page table (hmm_range_fault).
  Known nvidia_hmm;  // nvidia-uvm uses it (its parameter uvm_disable_hmm).
  std::vector<Accelerator> accelerators;  // PCI classes 03 and 12, by address.
};

// Of the tree below `root`, which is empty for this machine. Files that are missing, unreadable or
// damaged leave their part empty.
DevicePaths device_paths(const std::string& root = "");

// The extended capabilities of a device's config space: 000Fh, ATS; 0013h, PRI; 001Bh, PASID. All
// empty: the bytes end before them, as for a user who is not root.
struct TranslationCapabilities {
  Known ats;
  Known pri;
  Known pasid;
};
TranslationCapabilities capabilities_of(std::span<const unsigned char> config_space);

}  // namespace k2k::host
