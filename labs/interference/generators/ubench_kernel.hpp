#pragma once
// Device code of ubench: work-items stream through an array, and each access is a request: a fault
// on a missing page, or a read of a file. C++17, any device.

#include <cstddef>
#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::labs::generators {

// Waits until the time of an access. The device's clock wraps, so the differences between
// successive readings are summed.
class Pace {
 public:
  K2K_DEVICE explicit Pace(double ticks_apart)
      : ticks_apart_(ticks_apart), last_(device::platform::stamp()) {}

  K2K_DEVICE void wait_for(std::uint64_t access) {
    if (ticks_apart_ <= 0) return;
    const auto due = static_cast<std::uint64_t>(ticks_apart_ * static_cast<double>(access));
    while (look() < due) k2k::yield();
  }

 private:
  K2K_DEVICE std::uint64_t look() {
    const std::uint32_t stamp = device::platform::stamp();
    const std::uint32_t gap = stamp - last_;
    if (gap < 0x80000000u) {  // Otherwise the clock of another core is a little behind.
      passed_ += gap;
      last_ = stamp;
    }
    return passed_;
  }

  double ticks_apart_;
  std::uint32_t last_;
  std::uint64_t passed_ = 0;
};

struct UbenchKernel {
  static constexpr std::size_t words_a_page = 4096 / sizeof(std::uint64_t);

  const std::uint64_t* data;  // Access i is the first word of page i, or word i of the file.
  std::uint64_t* seen;
  std::uint64_t accesses;
  int file;  // -1: the accesses are faults.
  double ticks_apart;

  K2K_DEVICE void operator()() const {
    Pace pace(ticks_apart);
    for (std::uint64_t access = k2k::global_rank(); access < accesses;
         access += k2k::global_size()) {
      pace.wait_for(access);
      seen[access] = file < 0 ? data[access * words_a_page] : from_file(access);
    }
  }

 private:
  K2K_DEVICE std::uint64_t from_file(std::uint64_t access) const {
    std::uint64_t word = 0;
    const long count = k2k::pread(k2k::work_item, k2k::halting, file, &word, sizeof(word),
                                  static_cast<std::int64_t>(access * sizeof(word)));
    return count == sizeof(word) ? word : 0;
  }
};

// Runs until the host sets `stop`: touches one missing page after the other.
struct StreamKernel {
  const std::uint64_t* data;
  std::uint64_t pages;
  const std::uint32_t* stop;
  std::uint32_t* wrong;  // Pages that were not zero.

  K2K_DEVICE void operator()() const {
    for (std::uint64_t page = k2k::global_rank(); page < pages; page += k2k::global_size()) {
      if (protocol::load_acquire(stop) != 0) return;
      if (data[page * UbenchKernel::words_a_page] != 0) {
        protocol::device_add(wrong, std::uint32_t{1});
      }
    }
  }
};

}  // namespace k2k::labs::generators
