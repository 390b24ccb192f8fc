#pragma once
// The graph in memory, in one of three modes (thesis, section 4.5.2):
//
//   demand  pages of the file come when a search first touches them
//   pinned  memory that was read before the search, in small pages
//   huge    the same in pages of 2 MiB, where Linux has them
//
// For a kernel, demand is a k2k::DemandRegion. For threads of the host it is mmap(2), whose faults
// Linux serves itself.
//
// Threading: one thread makes it, any thread reads it.

#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>

#include "apps/common/device_blocks.hpp"
#include "apps/graph500/graph_file.hpp"
#include "k2k/demand_region.hpp"

namespace k2k::graph500 {

enum class Mode : std::uint8_t { demand, pinned, huge };

// Pages of mmap(2).
class Pages {
 public:
  // Zeros. Errors: ENOMEM.
  static Result<Pages> zeros(std::size_t bytes, bool huge);
  // The bytes of the file from `at` on. Errors: as mmap(2).
  static Result<Pages> of_file(const GraphFile& file, std::uint64_t at, std::size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&&) = delete;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  Pages(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_;
  std::size_t bytes_;
};

// While it lives, a touch of a mapped page that the file has lost ends the process with one line
// and exit status 1. For mappings that Linux serves alone; one at a time.
class CutFileReport {
 public:
  explicit CutFileReport(const GraphFile& file);
  ~CutFileReport();
  CutFileReport(const CutFileReport&) = delete;
  CutFileReport& operator=(const CutFileReport&) = delete;

 private:
  struct sigaction before_{};
};

struct GraphMemory {
  const std::byte* data = nullptr;  // From Sections::offsets on, searched_bytes() of them.
  std::optional<Pages> pages = {};
  std::optional<DemandRegion> region = {};
  std::unique_ptr<CutFileReport> report = {};
};

// Errors: ENOMEM, as GraphFile::read().
Result<GraphMemory> graph_for_host(const GraphFile& file, Mode mode);
// Errors: the same; as DemandRegion::file(); ENOTSUP (huge pages on a device that does not reach
// the host's pages).
Result<GraphMemory> graph_for_device(Runtime& runtime, apps::DeviceBlocks& blocks,
                                     const GraphFile& file, Mode mode);

}  // namespace k2k::graph500
