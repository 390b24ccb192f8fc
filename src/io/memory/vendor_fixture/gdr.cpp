// GDRCopy's entries, for memory of the process: a mapping is at the memory's own address.

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "io/memory/vendor_fixture/allocations.hpp"
#include "io/memory/vendor_fixture/control.hpp"

using k2k::io::vendor::told;

extern "C" {

extern k2k::io::vendor::Control k2k_vendor;

struct gdr {};
struct GdrHandle {
  unsigned long address;
};
struct GdrInfo {
  std::uint64_t address;
  std::uint64_t mapped_bytes;
  std::uint32_t page_bytes;
  std::uint64_t cycles;
  std::uint32_t cycles_per_ms;
  unsigned mapped : 1;
  unsigned write_combined : 1;
  int mapping_type;
};

#define K2K_GDR(returns, name, ...) __attribute__((visibility("default"))) returns name(__VA_ARGS__)
#define K2K_TOLD(name) \
  if (const int code = told(name); code != 0) return code

K2K_GDR(gdr*, gdr_open) {
  if (told("gdr_open") != 0) return nullptr;
  ++k2k_vendor.gdr_open;
  static gdr library;
  return &library;
}
K2K_GDR(int, gdr_close, gdr*) {
  --k2k_vendor.gdr_open;
  return 0;
}
K2K_GDR(int, gdr_pin_buffer, gdr*, unsigned long address, std::size_t bytes, std::uint64_t,
        std::uint32_t, GdrHandle* handle) {
  K2K_TOLD("gdr_pin_buffer");
  if (address % 65'536 != 0 || bytes % 65'536 != 0) return EINVAL;
  ++k2k_vendor.gdr_pinned;
  *handle = {address};
  return 0;
}
K2K_GDR(int, gdr_unpin_buffer, gdr*, GdrHandle) {
  --k2k_vendor.gdr_pinned;
  return 0;
}
K2K_GDR(int, gdr_get_info_v2, gdr*, GdrHandle handle, GdrInfo* info) {
  K2K_TOLD("gdr_get_info_v2");
  *info = {handle.address, 0, 65'536, 0, 0, 0, 1, 1};
  return 0;
}
K2K_GDR(int, gdr_map, gdr*, GdrHandle handle, void** mapped, std::size_t) {
  K2K_TOLD("gdr_map");
  ++k2k_vendor.gdr_mapped;
  *mapped = reinterpret_cast<void*>(handle.address);  // NOLINT(performance-no-int-to-ptr)
  return 0;
}
K2K_GDR(int, gdr_unmap, gdr*, GdrHandle, void*, std::size_t) {
  --k2k_vendor.gdr_mapped;
  return 0;
}

}  // extern "C"
