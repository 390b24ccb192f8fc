#pragma once
// The memory of an input file, in one of three modes (thesis, sections 4.4.2 and 4.5.2):
//
//   demand  addresses whose pages a kernel's first access brings in from the file
//   pinned  read before the launch, in pages of 4 KiB
//   huge    the same in pages of 2 MiB
//
// In every mode kernels write to a private copy, never to the file.
//
// Threading: one thread. The runtime must outlive the memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "apps/common/input_file.hpp"
#include "k2k/demand_region.hpp"
#include "k2k/runtime.hpp"

namespace k2k::apps {

enum class Mode : std::uint8_t { demand, pinned, huge };

// Of one process at one moment.
struct Resident {
  std::uint64_t bytes = 0;
  std::uint64_t faults = 0;  // Linux', of threads of the process: minor and major.
};
Resident resident_now();

struct UnmapInput {
  std::size_t bytes = 0;
  void operator()(void* address) const;
};
struct FreeInput {
  Runtime* runtime = nullptr;
  void operator()(void* address) const { runtime->free(address); }
};

class InputMemory {
 public:
  // `name`: of the region, for messages. Errors: as DemandRegion::file() and read_at(); ENOMEM;
  // ENOTSUP (huge pages that Linux does not give, or that the device does not reach).
  static Result<InputMemory> create(Runtime& runtime, const InputFile& file, Mode mode,
                                    const char* name);

  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  // Pages that were brought in on demand.
  [[nodiscard]] std::uint64_t demand_pages() const;
  // In pages of 2 MiB.
  [[nodiscard]] std::uint64_t huge_bytes() const;

 private:
  Status map(std::size_t bytes, bool huge);
  Status read_into_device(Runtime& runtime, const InputFile& file);

  void* data_ = nullptr;
  std::optional<DemandRegion> region_;
  std::unique_ptr<void, UnmapInput> mapped_;
  std::unique_ptr<void, FreeInput> on_device_;
};

}  // namespace k2k::apps
