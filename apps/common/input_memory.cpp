#include "apps/common/input_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "apps/common/device_blocks.hpp"
#include "apps/common/resident.hpp"
#include "base/huge_pages.hpp"

namespace k2k::apps {

namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20;  // Of a copy into a GPU's memory.

Error no_memory(std::size_t bytes, int error) {
  return Error{error, fmt::format("no memory for {} bytes of input ({}); take --mode demand, make "
                                  "a smaller file, or raise the memory limit",
                                  bytes, std::strerror(error))};
}

// For the handler, which may not allocate.
char cut_line[8192];
std::size_t cut_line_bytes = 0;
std::atomic_flag cut_line_taken;

void end_with_line(int) {
  // Of threads that touch lost pages at the same time one writes; the others end with the process.
  while (cut_line_taken.test_and_set(std::memory_order_relaxed)) ::pause();
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, cut_line, cut_line_bytes);
  ::_exit(1);
}

}  // namespace

Mode mode_of(const std::string& word) {
  return word == "huge" ? Mode::huge : word == "pinned" ? Mode::pinned : Mode::demand;
}

std::uint64_t fault_requests(const Runtime& runtime) {
  for (const server::CallStats& call : runtime.stats().calls) {
    if (call.name == "fault_in") return call.count;
  }
  return 0;
}

Result<Pages> Pages::zeros(std::size_t bytes, bool huge) {
  const std::size_t page = huge ? huge_page_bytes : 4096;
  const std::size_t whole = (bytes + page - 1) / page * page;
  // A huge page needs a boundary of its size.
  const std::size_t room = huge ? whole + huge_page_bytes : whole;
  void* const mapped =
      ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return no_memory(bytes, errno);
  auto* data = static_cast<std::byte*>(mapped);
  if (huge) {
    const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(mapped) % page) % page;
    if (before != 0) ::munmap(data, before);
    data += before;
    ::munmap(data + whole, page - before);
  }
  ::madvise(data, whole, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return Pages(data, whole);
}

Result<Pages> Pages::of_file(const InputFile& file, Use use) {
  const int protection = use == Use::change ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const mapped = ::mmap(nullptr, file.bytes, protection, MAP_PRIVATE | MAP_NORESERVE,
                              file.descriptor.number(), static_cast<off_t>(file.offset));
  if (mapped == MAP_FAILED) {
    const int error = errno;
    return wrong_input(file,
                       fmt::format("cannot be mapped ({}); take --mode pinned, or make a smaller "
                                   "file",
                                   std::strerror(error)),
                       error);
  }
  return Pages(static_cast<std::byte*>(mapped), file.bytes);
}

Pages::~Pages() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

CutFileReport::CutFileReport(const InputFile& file, const char* program)
    : CutFileReport(fmt::format(
          "{}: {}\n", program,
          damaged_input(file, "the file became shorter while it was mapped: a page of it is gone")
              .message)) {}

CutFileReport::CutFileReport(const std::string& line) {
  cut_line_bytes = std::min(line.size(), sizeof(cut_line));
  std::memcpy(cut_line, line.data(), cut_line_bytes);
  struct sigaction action{};
  action.sa_handler = end_with_line;
  ::sigaction(SIGBUS, &action, &before_);
}

CutFileReport::~CutFileReport() { ::sigaction(SIGBUS, &before_, nullptr); }

std::uint64_t InputMemory::demand_pages() const { return region_ ? region_->counters().pages : 0; }

std::uint64_t InputMemory::huge_bytes() const { return pages_ ? huge_bytes_at(data_) : 0; }

Status InputMemory::read_into_pages(const InputFile& file, bool huge) {
  auto pages = Pages::zeros(file.bytes, huge);
  if (!pages) return pages.error();
  pages_.emplace(std::move(*pages));
  data_ = pages_->data();
  if (Status read = read_at(file, data_, file.bytes, file.offset); !read) return read;
  if (!huge || huge_bytes() != 0) return {};
  return Error{ENOTSUP,
               "Linux gave no huge page; write madvise to "
               "/sys/kernel/mm/transparent_hugepage/enabled, free memory, or take --mode pinned"};
}

Status InputMemory::read_into_device(Runtime& runtime, const InputFile& file) {
  const auto memory = runtime.allocate(file.bytes);
  if (!memory) return memory.error();
  on_device_ = std::unique_ptr<void, FreeInput>(*memory, {&runtime});
  data_ = *memory;
  std::vector<std::byte> piece(std::min<std::uint64_t>(piece_bytes, file.bytes));
  for (std::uint64_t done = 0; done < file.bytes; done += piece.size()) {
    const std::uint64_t bytes = std::min<std::uint64_t>(piece.size(), file.bytes - done);
    Status read = read_at(file, piece.data(), bytes, file.offset + done);
    if (read) read = runtime.copy(as<std::byte>() + done, piece.data(), bytes);
    if (!read) return read;
  }
  return {};
}

Result<InputMemory> InputMemory::create(Runtime& runtime, const InputFile& file, Mode mode,
                                        const char* name) {
  InputMemory memory;
  const DeviceInfo& device = runtime.device();
  Status ready;
  if (mode == Mode::demand) {
    auto region = DemandRegion::file(runtime, file.descriptor.number(),
                                     static_cast<std::int64_t>(file.offset),
                                     whole_pages(file.bytes), {.name = name});
    if (!region) return region.error();
    memory.region_ = std::move(region.value());
    memory.data_ = memory.region_->data();
  } else if (mode == Mode::huge && !device.reaches_host_pages) {
    return Error{ENOTSUP,
                 fmt::format("the device '{}' does not reach huge pages of the host; take --mode "
                             "pinned, or --backend cpu",
                             device.name)};
  } else if (mode == Mode::pinned && device.platform != "cpu") {
    ready = memory.read_into_device(runtime, file);
  } else {
    ready = memory.read_into_pages(file, mode == Mode::huge);
  }
  if (!ready) return ready.error();
  return Result<InputMemory>(std::move(memory));
}

Result<InputMemory> InputMemory::on_host(const InputFile& file, Mode mode, const char* program,
                                         Use use) {
  InputMemory memory;
  if (mode == Mode::demand) {
    auto pages = Pages::of_file(file, use);
    if (!pages) return pages.error();
    memory.pages_.emplace(std::move(*pages));
    memory.data_ = memory.pages_->data();
    memory.report_ = std::make_unique<CutFileReport>(file, program);
  } else if (Status ready = memory.read_into_pages(file, mode == Mode::huge); !ready) {
    return ready.error();
  }
  return Result<InputMemory>(std::move(memory));
}

}  // namespace k2k::apps
