#pragma once
// The memory of an input file, in one of three modes (thesis, sections 4.4.2 and 4.5.2):
//
//   demand  addresses whose pages the first access brings in from the file
//   pinned  read before the launch, in pages of 4 KiB; on a GPU, device memory
//   huge    the same in pages of 2 MiB
//
// For a kernel, demand is a k2k::DemandRegion, and writes go to a private copy, never to the file.
// For threads of the host it is mmap(2), read-only, whose faults Linux serves itself.
//
// Threading: one thread makes it, any thread reads it. The runtime must outlive the memory.

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/input_file.hpp"
#include "k2k/demand_region.hpp"
#include "k2k/runtime.hpp"

namespace k2k::apps {

enum class Mode : std::uint8_t { demand, pinned, huge };

// The words of --mode.
inline std::vector<std::string> mode_words() { return {"demand", "pinned", "huge"}; }
// Expects one of them.
Mode mode_of(const std::string& word);

// Page faults of kernels that the server resolved.
std::uint64_t fault_requests(const Runtime& runtime);

// Does a program change its input in memory? The file never changes.
enum class Use : std::uint8_t { read, change };

// Pages of mmap(2).
class Pages {
 public:
  // Zeros, in memory of Linux's own. Errors: ENOMEM.
  static Result<Pages> zeros(std::size_t bytes, bool huge);
  // The part of the file that kernels use. Errors: as mmap(2).
  static Result<Pages> of_file(const InputFile& file, Use use);
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
  CutFileReport(const InputFile& file, const char* program);
  explicit CutFileReport(const std::string& line);  // The whole line, with its end.
  ~CutFileReport();
  CutFileReport(const CutFileReport&) = delete;
  CutFileReport& operator=(const CutFileReport&) = delete;

 private:
  struct sigaction before_{};
};

struct FreeInput {
  Runtime* runtime = nullptr;
  void operator()(void* address) const { runtime->free(address); }
};

class InputMemory {
 public:
  // For kernels. `name`: of the region, for messages. Errors: as DemandRegion::file() and
  // read_at(); ENOMEM; ENOTSUP (huge pages that Linux does not give, or that the device does not
  // reach).
  static Result<InputMemory> create(Runtime& runtime, const InputFile& file, Mode mode,
                                    const char* name);
  // For threads of the host. `program`: begins the line of CutFileReport. Errors: as read_at();
  // ENOMEM; ENOTSUP.
  static Result<InputMemory> on_host(const InputFile& file, Mode mode, const char* program,
                                     Use use = Use::read);

  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  // Pages that faults of kernels brought in.
  [[nodiscard]] std::uint64_t demand_pages() const;
  // In pages of 2 MiB.
  [[nodiscard]] std::uint64_t huge_bytes() const;

 private:
  Status read_into_pages(const InputFile& file, bool huge);
  Status read_into_device(Runtime& runtime, const InputFile& file);

  void* data_ = nullptr;
  std::optional<DemandRegion> region_;
  std::optional<Pages> pages_;
  std::unique_ptr<CutFileReport> report_;
  std::unique_ptr<void, FreeInput> on_device_;
};

}  // namespace k2k::apps
