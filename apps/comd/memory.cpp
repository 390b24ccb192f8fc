#include "apps/comd/memory.hpp"

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

#include "apps/common/device_blocks.hpp"
#include "base/huge_pages.hpp"

namespace k2k::comd {

Resident resident_now() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t whole = 0;
  std::uint64_t pages = 0;
  statm >> whole >> pages;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {pages * 4096, static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt)};
}

void UnmapAtoms::operator()(void* address) const { ::munmap(address, bytes); }

std::uint64_t AtomMemory::demand_pages() const { return region_ ? region_->counters().pages : 0; }

// From /proc/self/smaps: the mapping that holds the atoms.
std::uint64_t AtomMemory::huge_bytes() const {
  if (mapped_ == nullptr) return 0;
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(atoms_);
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

Status AtomMemory::map(std::size_t bytes, bool huge) {
  const std::size_t page = huge ? huge_page_bytes : 4096;
  const std::size_t whole = (bytes + page - 1) / page * page + (huge ? huge_page_bytes : 0);
  void* const address =
      ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    return Error{errno, fmt::format("no memory for {} bytes of atoms ({}); make a smaller file, or "
                                    "raise the memory limit",
                                    bytes, std::strerror(errno))};
  }
  mapped_ = std::unique_ptr<void, UnmapAtoms>(address, {whole});
  ::madvise(address, whole, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  const auto first = (reinterpret_cast<std::uintptr_t>(address) + page - 1) / page * page;
  atoms_ = reinterpret_cast<Atom*>(first);
  return {};
}

// Through memory of the host.
Status AtomMemory::read_into_device(Runtime& runtime, const AtomFile& file) {
  std::vector<Atom> atoms(file.header.atoms);
  if (Status read = read_atoms(file, atoms.data()); !read) return read;
  const auto memory = runtime.allocate(file.atom_bytes());
  if (!memory) return memory.error();
  on_device_ = std::unique_ptr<void, FreeAtoms>(*memory, {&runtime});
  atoms_ = static_cast<Atom*>(*memory);
  return runtime.copy(atoms_, atoms.data(), file.atom_bytes());
}

Result<AtomMemory> AtomMemory::create(Runtime& runtime, const AtomFile& file, Mode mode) {
  AtomMemory memory;
  if (mode == Mode::demand) {
    auto region = DemandRegion::file(runtime, file.descriptor.number(), header_bytes,
                                     apps::whole_pages(file.atom_bytes()), {.name = "atoms"});
    if (!region) return region.error();
    memory.region_ = std::move(region.value());
    memory.atoms_ = memory.region_->as<Atom>();
    return Result<AtomMemory>(std::move(memory));
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
    ready = memory.map(file.atom_bytes(), mode == Mode::huge);
    if (ready) ready = read_atoms(file, memory.atoms());
  }
  if (!ready) return ready.error();
  if (mode == Mode::huge && memory.huge_bytes() == 0) {
    return Error{ENOTSUP,
                 "Linux gave no huge page; write madvise to "
                 "/sys/kernel/mm/transparent_hugepage/enabled, free memory, or take --mode pinned"};
  }
  return Result<AtomMemory>(std::move(memory));
}

}  // namespace k2k::comd
