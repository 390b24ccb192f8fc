#pragma once
// The device and the driver behind each interrupt, from sysfs.
//
//   /sys/kernel/irq/N/actions            names that drivers gave: "nvme0q1", "virtio1-req.0"
//   /sys/bus/pci/devices/A/msi_irqs/N    the PCI device that owns N; A/irq for its line interrupt
//   /sys/bus/pci/devices/A/driver        its driver
//   /sys/bus/virtio/devices/V/driver     the driver of a virtio device, whose PCI device has only
//                                        the transport's
//
// Threading: from anywhere.

#include <map>
#include <string>
#include <vector>

#include "cli/watch/sources/counters.hpp"
#include "cli/watch/sources/text_files.hpp"

namespace k2k::watch {

struct InterruptOwner {
  std::vector<std::string> actions;
  std::string device;  // "0000:01:00.0", "virtio1"; empty if sysfs names none.
  std::string driver;
};

// By number. `lines` are those of /proc/interrupts: their text names the actions and often the
// device where sysfs does not. What cannot be read is left empty.
std::map<unsigned, InterruptOwner> find_owners(const Roots& roots,
                                               const std::vector<CountedLine>& lines);

}  // namespace k2k::watch
