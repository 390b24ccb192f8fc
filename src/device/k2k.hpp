#pragma once
// The header for kernels. C++17, no vendor library.
//
//   [=] K2K_DEVICE {
//     const int fd = k2k::open(k2k::work_group, "/etc/hostname", 0).fd();
//     const long n = k2k::pread(k2k::work_group, k2k::relaxed, fd, buffer, 4096, 0);
//     k2k::write(k2k::work_group, k2k::relaxed | k2k::detached, 1, buffer, n);
//     k2k::close(k2k::work_group, fd);
//   }
//
// Scopes, orders and outcomes: device/options.hpp. Answers: device/reply.hpp. Typed wrappers:
// device/wrappers.hpp. Atomics: device/atomic.hpp. Every call of group scope is collective: all
// work-items of the group make it.

#include "device/atomic.hpp"
#include "device/host_call.hpp"
#include "device/invoke.hpp"
#include "device/long_read.hpp"
#include "device/print.hpp"
#include "device/wrappers.hpp"

namespace k2k {

// Rank of the work-group in the launch, and the number of work-groups.
K2K_DEVICE inline std::uint32_t group_rank() { return device::platform::current().group; }
K2K_DEVICE inline std::uint32_t group_count() { return device::platform::current().groups; }
// Rank of the work-item in its group, and the group's size in work-items.
K2K_DEVICE inline std::uint32_t item_rank() { return device::platform::current().rank; }
K2K_DEVICE inline std::uint32_t group_size() { return device::platform::current().group_items; }
// Rank of the work-item in the launch, and the launch's size in work-items.
K2K_DEVICE inline std::uint64_t global_rank() {
  const device::platform::Item& me = device::platform::current();
  return static_cast<std::uint64_t>(me.group) * me.group_items + me.rank;
}
K2K_DEVICE inline std::uint64_t global_size() {
  const device::platform::Item& me = device::platform::current();
  return static_cast<std::uint64_t>(me.groups) * me.group_items;
}
// Lane within the wave, and the wave's width. The hardware wave is a hint: it may change.
K2K_DEVICE inline std::uint32_t lane() { return device::platform::current().lane; }
K2K_DEVICE inline std::uint32_t wave_lanes() { return device::platform::current().wave_lanes; }
K2K_DEVICE inline std::uint32_t hardware_wave() { return device::platform::current().wave; }

K2K_DEVICE inline void barrier() { device::platform::barrier(); }
K2K_DEVICE inline void yield() { device::platform::yield(); }
K2K_DEVICE inline std::uint64_t ballot(bool predicate) {
  return device::platform::ballot(predicate);
}
K2K_DEVICE inline std::uint64_t shuffle(std::uint64_t value, std::uint32_t from) {
  return device::platform::shuffle(value, from);
}

}  // namespace k2k

// Local memory of the work-group: `K2K_LOCAL(int[64], counts);` makes `counts` a reference to
// zeroed memory that all work-items of the group share.
#if defined(K2K_PLATFORM_LOCAL)
#define K2K_LOCAL(Type, name) K2K_PLATFORM_LOCAL(std::remove_reference_t<Type>, name)
#else
#define K2K_LOCAL(Type, name)                                \
  static const char name##_tag = 0;                          \
  auto& name = *static_cast<std::remove_reference_t<Type>*>( \
      ::k2k::device::platform::local_memory(&name##_tag, sizeof(Type), alignof(Type)))
#endif

namespace k2k {

// A long read by the work-group, as several requests at a time: device/long_read.hpp. Collective.
K2K_DEVICE inline long pread_together(int fd, void* buffer, std::size_t bytes,
                                      std::int64_t offset) {
  K2K_LOCAL(device::LongRead, read);
  const std::size_t part = device::long_read_part(bytes, group_size());
  const std::size_t first = item_rank() * part;
  barrier();  // The items' data is complete, and an earlier answer was read.
  if (item_rank() < long_read_parts_max && (first < bytes || item_rank() == 0)) {
    const std::size_t left = bytes - first;
    read.answers[item_rank()] =
        device::read_part(fd, static_cast<char*>(buffer) + first, left < part ? left : part,
                          offset + static_cast<std::int64_t>(first));
  }
  barrier();
  return device::long_read_answer(read, bytes, part);
}

}  // namespace k2k
