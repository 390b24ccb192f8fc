#pragma once
// Memory of a real PCI device, if the environment names one: K2K_PEER_DEVICE is its address,
// K2K_PEER_REFUSED the errno of transfers if the drive of TMPDIR cannot reach it. `./dev check
// --only peer-to-peer` does both in virtual machines. For tests; never installed.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "io/gpu/peer.hpp"

namespace k2k::io {

class OnPeerDevice : public testing::Test {
 protected:
  void SetUp() override {
    const char* const given = std::getenv("K2K_PEER_DEVICE");
    if (given == nullptr) GTEST_SKIP() << "no K2K_PEER_DEVICE";
    address_ = given;
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  // Each byte is 0xee.
  [[nodiscard]] PeerMemory allocated(std::size_t bytes) const {
    PeerMemory memory = PeerMemory::allocate(address_, bytes).value();
    for (std::byte& byte : memory.bytes()) byte = std::byte{0xee};
    return memory;
  }
  [[nodiscard]] std::uint64_t available() const {
    for (const PeerDevice& device : peer_devices()) {
      if (device.address == address_) return device.available;
    }
    return 0;
  }
  // A copy of the content; made once, because the CPU reads such memory slowly.
  static std::vector<std::byte> copy_of(std::span<const std::byte> memory) {
    return {memory.begin(), memory.end()};
  }

  // The errno of refused transfers; 0: transfers work.
  const int refused_ = refusal();

 private:
  static int refusal() {
    const char* const given = std::getenv("K2K_PEER_REFUSED");
    return given == nullptr ? 0 : std::atoi(given);
  }

  std::string address_;
};

}  // namespace k2k::io
