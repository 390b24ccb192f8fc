#include "apps/common/input_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/device_blocks.hpp"
#include "base/huge_pages.hpp"

namespace k2k::apps {

Resident resident_now() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t whole = 0;
  std::uint64_t pages = 0;
  statm >> whole >> pages;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {pages * 4096, static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt)};
}

void UnmapInput::operator()(void* address) const { ::munmap(address, bytes); }

std::uint64_t InputMemory::demand_pages() const { return region_ ? region_->counters().pages : 0; }

// From /proc/self/smaps: the mapping that holds the data.
std::uint64_t InputMemory::huge_bytes() const {
  if (mapped_ == nullptr) return 0;
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(data_);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = begin <= wanted && wanted < end;
    } else if (inside && line.rfind("AnonHugePages:", 0) == 0) {
      return std::stoull(line.substr(std::strlen("AnonHugePages:"))) * 1024;
    }
  }
  return 0;
}

Status InputMemory::map(std::size_t bytes, bool huge) {
  const std::size_t page = huge ? huge_page_bytes : 4096;
  const std::size_t whole = (bytes + page - 1) / page * page + (huge ? huge_page_bytes : 0);
  void* const address =
      ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    return Error{errno, fmt::format("no memory for {} bytes of input ({}); make a smaller file, or "
                                    "raise the memory limit",
                                    bytes, std::strerror(errno))};
  }
  mapped_ = std::unique_ptr<void, UnmapInput>(address, {whole});
  ::madvise(address, whole, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  const auto first = (reinterpret_cast<std::uintptr_t>(address) + page - 1) / page * page;
  data_ = reinterpret_cast<void*>(first);
  return {};
}

// Through memory of the host.
Status InputMemory::read_into_device(Runtime& runtime, const InputFile& file) {
  std::vector<std::byte> bytes(file.bytes);
  if (Status read = read_at(file, bytes.data(), file.bytes, file.offset); !read) return read;
  const auto memory = runtime.allocate(file.bytes);
  if (!memory) return memory.error();
  on_device_ = std::unique_ptr<void, FreeInput>(*memory, {&runtime});
  data_ = *memory;
  return runtime.copy(data_, bytes.data(), file.bytes);
}

Result<InputMemory> InputMemory::create(Runtime& runtime, const InputFile& file, Mode mode,
                                        const char* name) {
  InputMemory memory;
  if (mode == Mode::demand) {
    auto region = DemandRegion::file(runtime, file.descriptor.number(),
                                     static_cast<std::int64_t>(file.offset),
                                     whole_pages(file.bytes), {.name = name});
    if (!region) return region.error();
    memory.region_ = std::move(region.value());
    memory.data_ = memory.region_->data();
    return Result<InputMemory>(std::move(memory));
  }
  Status ready;
  if (!runtime.device().reaches_host_pages) {
    if (mode == Mode::huge) {
      return Error{ENOTSUP,
                   fmt::format("the device '{}' does not reach huge pages of the host; take "
                               "--mode pinned",
                               runtime.device().name)};
    }
    ready = memory.read_into_device(runtime, file);
  } else {
    ready = memory.map(file.bytes, mode == Mode::huge);
    if (ready) ready = read_at(file, memory.data_, file.bytes, file.offset);
  }
  if (!ready) return ready.error();
  if (mode == Mode::huge && memory.huge_bytes() == 0) {
    return Error{ENOTSUP,
                 "Linux gave no huge page; write madvise to "
                 "/sys/kernel/mm/transparent_hugepage/enabled, free memory, or take --mode pinned"};
  }
  return Result<InputMemory>(std::move(memory));
}

}  // namespace k2k::apps
