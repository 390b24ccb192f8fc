#pragma once
// Shared by tests and the library in this folder, which replaces HIP's runtime: the test's
// settings, and the library's counts. For tests; never installed.
//
// Threading: settings while no call is made; counts are atomic.

#include <atomic>
#include <cstdint>
#include <cstring>

namespace k2k::backend::hip::fake {

struct Grid {
  std::uint32_t groups = 0;
  std::uint32_t group_items = 0;
};

// Acts as a kernel, on a thread of the stream: reads its arguments where the kernel's metadata say
// that they lie, and returns a code, 0 if the kernel ended well.
using StandIn = int (*)(const Grid& grid, const void* const* arguments);

struct Control {
  // The function of that name returns `code` from its call number `after`, from 0 on, once.
  char failing[64] = "";
  int code = 0;
  int after = 0;

  int devices = 1;
  int version = 60'200'000;          // 6.2
  char architecture[32] = "gfx90a";  // Of the device.
  int wave_lanes = 64;
  int compute_units = 2;
  int items_per_unit = 512;      // With waves of 64: 8 waves a unit.
  bool pageable = false;         // Can the device address all memory of the process?
  bool managed = false;          // Does it fault on managed memory?
  bool other_addresses = false;  // Pinned memory has another address on the device.

  // The kernel of that name ends as the stand-in says. A kernel without one fails.
  char kernel[256] = "";
  StandIn stand_in = nullptr;

  std::atomic<int> allocations = 0;  // Not freed yet; so are the four below.
  std::atomic<int> pinned = 0;
  std::atomic<int> streams = 0;
  std::atomic<int> modules = 0;
  std::atomic<int> entered = 0;         // Threads whose current device is not `programs_device`.
  std::atomic<int> queued = 0;          // Pieces of work of streams that have not ended.
  std::atomic<int> launches = 0;        // Ever.
  std::atomic<unsigned> pin_flags = 0;  // Of the last call.

  void fail(const char* name, int with, int call = 0) {
    std::strncpy(failing, name, sizeof failing - 1);
    code = with;
    after = call;
  }
  void stand_for(const char* name, StandIn with) {
    std::strncpy(kernel, name, sizeof kernel - 1);
    stand_in = with;
  }
};

// The device that the program chose, in each thread.
inline constexpr int programs_device = 7;

}  // namespace k2k::backend::hip::fake

// Of the library, found by dlsym().
//
//   k2k_hip_control   a Control
//   k2k_hip_reach     the host's address of device memory, which the host cannot access by the
//                     device's address; other addresses as they are
extern "C" {
extern k2k::backend::hip::fake::Control k2k_hip_control;
void* k2k_hip_reach(const void* address);
}
