#pragma once
// Memory of a PCI device that another device may read and write without the CPU (Linux P2PDMA): as
// the memory of a transfer on an O_DIRECT descriptor, data then go from device to device.
//
//   /sys/bus/pci/devices/BDF/p2pmem/{size,available,published,allocate}
//
// Linux has these files since 6.2, with CONFIG_PCI_P2PDMA.
//
// VERIFIED ON EMULATED HARDWARE ONLY: between two NVMe controllers of QEMU, one with a memory
// buffer, under Linux 7.3 (`./dev check --only peer-to-peer`): allocation, reads and writes on ext4
// by every engine, and refusals. This shows correctness; the speed is unknown.
//
// No reader uses it yet. Tests and that check prove that every engine takes such memory, until a
// GPU's driver publishes some.
//
// Threading: values and one owner an object.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace k2k::io {

struct PeerDevice {
  std::string address;          // As in /sys: "0000:03:00.0".
  std::uint64_t bytes = 0;      // All of its peer memory.
  std::uint64_t available = 0;  // The part not yet allocated; 0 if unreadable.
  bool published = false;       // Offered to every driver, not only to its own.
};

// The devices with peer memory, by address. Empty if /sys cannot be listed.
std::vector<PeerDevice> peer_devices(const std::string& sys = "/sys");

class PeerMemory {
 public:
  // `bytes` are rounded up to whole pages. Errors: EINVAL, not a PCI address, no bytes, or mapping
  // refused. ENOENT: the device has no peer memory, or Linux does not permit mapping it. EACCES: no
  // right to write `allocate`. ENOMEM: not enough is available.
  static Result<PeerMemory> allocate(const std::string& address, std::size_t bytes,
                                     const std::string& sys = "/sys");

  PeerMemory(PeerMemory&& other) noexcept;
  PeerMemory& operator=(PeerMemory&& other) noexcept;
  ~PeerMemory();  // Returns the memory to the device. Expects no transfer in flight.

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit PeerMemory(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;
};

// The reason why a direct transfer with peer memory failed with that errno, and the remedy, on one
// line.
std::string why_peer_refused(int code);

}  // namespace k2k::io
