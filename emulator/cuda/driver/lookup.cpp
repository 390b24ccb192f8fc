// cuGetProcAddress, and the entry points that are not there.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "emulator/cuda/driver/state.hpp"

namespace k2k::emulator::driver {

namespace {

CUresult refuse(const char* name) {
  Driver::get().count_unsupported(name);
  return not_supported;
}

}  // namespace

}  // namespace k2k::emulator::driver

using namespace k2k::emulator::driver;

// A caller passes what the real function takes: the convention of calls lets it be ignored.
#define K2K_UNSUPPORTED(name) \
  K2K_ENTRY_POINT CUresult name() { return refuse(#name); }
#include "emulator/cuda/driver/unsupported.inl"
#undef K2K_UNSUPPORTED

// Only their addresses are taken here: the types are of no account.
#define K2K_ENTRY(base, version, name) extern "C" char entry_of_##name[] __asm__(#name);
#include "emulator/cuda/driver/entries.inl"
#undef K2K_ENTRY

namespace k2k::emulator::driver {

namespace {

struct EntryRow {
  std::string_view base;
  int version;
  void* address;
};

const EntryRow entry_rows[] = {
#define K2K_ENTRY(base, version, name) {#base, version, entry_of_##name},
#include "emulator/cuda/driver/entries.inl"
#undef K2K_ENTRY
#define K2K_UNSUPPORTED(name) {#name, -1, reinterpret_cast<void*>(&name)},
#include "emulator/cuda/driver/unsupported.inl"
#undef K2K_UNSUPPORTED
};

}  // namespace

}  // namespace k2k::emulator::driver

// The newest variant that a program of this version of CUDA means. status: 0 found, 1 not, 2 the
// driver's versions of it are newer.
K2K_ENTRY_POINT CUresult cuGetProcAddress_v2(const char* name, void** address, int version,
                                             std::uint64_t, int* status) {
  if (name == nullptr || address == nullptr) return invalid_value;
  *address = nullptr;
  int best = -2;
  for (const EntryRow& row : entry_rows) {
    if (row.base != name || row.version > version || row.version <= best) continue;
    best = row.version;
    *address = row.address;
  }
  if (status != nullptr) *status = *address == nullptr ? 1 : 0;
  return *address == nullptr ? not_found : success;
}
K2K_ENTRY_POINT CUresult cuGetProcAddress(const char* name, void** address, int version,
                                          std::uint64_t flags) {
  return cuGetProcAddress_v2(name, address, version, flags, nullptr);
}
