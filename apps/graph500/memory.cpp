#include "apps/graph500/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/huge_pages.hpp"

namespace k2k::graph500 {

namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20;  // Of a copy into a GPU's memory.

Error no_memory(std::size_t bytes, int error) {
  return {error, fmt::format("no memory for {} MiB of the graph ({}); take --mode demand, or "
                             "generate a graph of a smaller --scale",
                             bytes >> 20, std::strerror(error))};
}

Result<GraphMemory> read_before(const GraphFile& file, bool huge) {
  const Sections at = file.sections();
  auto pages = Pages::zeros(at.searched_bytes(), huge);
  if (!pages) return pages.error();
  if (Status read = file.read(at.offsets, pages->data(), at.searched_bytes()); !read) {
    return read.error();
  }
  GraphMemory memory;
  memory.data = pages->data();
  memory.pages.emplace(std::move(*pages));
  return memory;
}

Result<GraphMemory> copy_to_device(Runtime& runtime, apps::DeviceBlocks& blocks,
                                   const GraphFile& file) {
  const Sections at = file.sections();
  const auto there = blocks.on_device(at.searched_bytes());
  if (!there) return there.error();
  std::vector<std::byte> piece(std::min<std::uint64_t>(piece_bytes, at.searched_bytes()));
  for (std::uint64_t done = 0; done < at.searched_bytes(); done += piece.size()) {
    const std::uint64_t bytes = std::min<std::uint64_t>(piece.size(), at.searched_bytes() - done);
    if (Status read = file.read(at.offsets + done, piece.data(), bytes); !read) return read.error();
    Status copied = runtime.copy(static_cast<std::byte*>(*there) + done, piece.data(), bytes);
    if (!copied) return copied.error();
  }
  GraphMemory memory;
  memory.data = static_cast<const std::byte*>(*there);
  return memory;
}

// For the handler, which may not allocate.
char cut_line[8192];
std::size_t cut_line_bytes = 0;

void end_with_line(int) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, cut_line, cut_line_bytes);
  ::_exit(1);
}

}  // namespace

Result<Pages> Pages::zeros(std::size_t bytes, bool huge) {
  // A huge page needs a boundary of its size.
  const std::size_t room = huge ? bytes + huge_page_bytes : bytes;
  void* const mapped =
      ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return no_memory(bytes, errno);
  auto* data = static_cast<std::byte*>(mapped);
  if (!huge) {
    ::madvise(mapped, bytes, MADV_NOHUGEPAGE);
    return Pages(data, bytes);
  }
  const std::size_t before =
      (huge_page_bytes - reinterpret_cast<std::uintptr_t>(mapped) % huge_page_bytes) %
      huge_page_bytes;
  const std::size_t behind = huge_page_bytes - before;
  if (before != 0) ::munmap(data, before);
  data += before;
  const std::size_t kept = apps::whole_pages(bytes);
  if (kept < bytes + behind) ::munmap(data + kept, bytes + behind - kept);
  ::madvise(data, kept, MADV_HUGEPAGE);
  return Pages(data, kept);
}

Result<Pages> Pages::of_file(const GraphFile& file, std::uint64_t at, std::size_t bytes) {
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.descriptor(), static_cast<off_t>(at));
  if (mapped == MAP_FAILED) return no_memory(bytes, errno);
  return Pages(static_cast<std::byte*>(mapped), bytes);
}

Pages::~Pages() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

CutFileReport::CutFileReport(const GraphFile& file) {
  const std::string line =
      fmt::format("k2k-graph500: {}\n",
                  file.wrong(EIO, "was cut while it was mapped: a page of it is gone").message);
  cut_line_bytes = std::min(line.size(), sizeof(cut_line));
  std::memcpy(cut_line, line.data(), cut_line_bytes);
  struct sigaction action{};
  action.sa_handler = end_with_line;
  ::sigaction(SIGBUS, &action, &before_);
}

CutFileReport::~CutFileReport() { ::sigaction(SIGBUS, &before_, nullptr); }

Result<GraphMemory> graph_for_host(const GraphFile& file, Mode mode) {
  if (mode != Mode::demand) return read_before(file, mode == Mode::huge);
  const Sections at = file.sections();
  auto pages = Pages::of_file(file, at.offsets, at.searched_bytes());
  if (!pages) return pages.error();
  GraphMemory memory;
  memory.data = pages->data();
  memory.pages.emplace(std::move(*pages));
  memory.report = std::make_unique<CutFileReport>(file);
  return memory;
}

Result<GraphMemory> graph_for_device(Runtime& runtime, apps::DeviceBlocks& blocks,
                                     const GraphFile& file, Mode mode) {
  const Sections at = file.sections();
  if (mode == Mode::demand) {
    auto region =
        DemandRegion::file(runtime, file.descriptor(), static_cast<std::int64_t>(at.offsets),
                           at.searched_bytes(), {.name = "graph"});
    if (!region) return region.error();
    GraphMemory memory;
    memory.data = region->data();
    memory.region.emplace(std::move(*region));
    return memory;
  }
  const DeviceInfo& device = runtime.device();
  if (mode == Mode::huge && !device.reaches_host_pages) {
    return Error{ENOTSUP,
                 fmt::format("the device '{}' does not reach pages of mmap(2); take --mode "
                             "pinned, or --backend cpu",
                             device.name)};
  }
  if (mode == Mode::pinned && device.platform != "cpu") {
    return copy_to_device(runtime, blocks, file);
  }
  return read_before(file, mode == Mode::huge);
}

}  // namespace k2k::graph500
