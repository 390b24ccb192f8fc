#include "labs/translation/measured/faults.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "labs/translation/measured/mapping.hpp"
#include "labs/translation/measured/page_memory.hpp"

namespace k2k::labs::translation {

namespace {

// Linux brings up to this many pages of a file around a fault: farther apart, each is a fault.
constexpr std::size_t around_bytes = 64 << 10;

std::uint64_t faults_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
}

// A child that does nothing but share this process' pages; the destructor ends it.
class SleepingChild {
 public:
  static Result<SleepingChild> create() {
    const pid_t child = ::fork();
    if (child == 0) {
      while (true) ::pause();
    }
    if (child < 0) {
      const int error = errno;
      return Error{error, fmt::format("cannot start a child ({}); raise the limit of processes "
                                      "(ulimit -u)",
                                      std::strerror(error))};
    }
    return SleepingChild(child);
  }
  ~SleepingChild() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  SleepingChild(SleepingChild&& other) noexcept : child_(std::exchange(other.child_, 0)) {}
  SleepingChild& operator=(SleepingChild&&) = delete;
  SleepingChild(const SleepingChild&) = delete;
  SleepingChild& operator=(const SleepingChild&) = delete;

 private:
  explicit SleepingChild(pid_t child) : child_(child) {}
  pid_t child_;
};

void read_each(const char* data, std::size_t step, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    static_cast<void>(*static_cast<const volatile char*>(data + at * step));
  }
}
void write_each(char* data, std::size_t step, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) *static_cast<volatile char*>(data + at * step) = 1;
}

struct Timed {
  std::uint64_t faults;
  double ns;
};
Timed timed(const std::function<void()>& touch) {
  const std::uint64_t faults = faults_so_far();
  const std::uint64_t before = cycles();
  touch();
  const std::uint64_t taken = cycles() - before;
  return {faults_so_far() - faults, static_cast<double>(taken) * nanoseconds_per_cycle()};
}

// Runs `once` for each repeat, and keeps the cheapest fault.
Status keep_cheapest(FaultCost& cost, std::uint32_t repeats,
                     const std::function<Result<Timed>()>& once) {
  for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
    const Result<Timed> one = once();
    if (!one) return one.error();
    if (one->faults == 0) continue;
    const double ns = one->ns / static_cast<double>(one->faults);
    if (cost.faults != 0 && ns >= cost.ns) continue;
    cost.faults = one->faults;
    cost.ns = ns;
  }
  if (cost.faults == 0) cost.absent = "Linux counted no fault";
  return {};
}

Result<Mapping> advised(std::size_t bytes, int advice) {
  Result<Mapping> memory = anonymous(bytes);
  if (memory) ::madvise(memory->data(), bytes, advice);
  return memory;
}

Result<Descriptor> cached_file(std::size_t bytes) {
  Descriptor file(::memfd_create("k2k-faults", MFD_CLOEXEC));
  if (!file.open() || ::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    return Error{error, fmt::format("cannot make a file of {} bytes in memory ({}); free memory",
                                    bytes, std::strerror(error))};
  }
  return file;
}

}  // namespace

Result<std::vector<FaultCost>> fault_costs(std::uint32_t pages, std::uint32_t repeats) {
  const std::size_t page = bytes_of(PageSize::small);
  const std::size_t bytes = pages * page;
  std::vector<FaultCost> costs;
  const auto add = [&](const char* kind, const char* about,
                       const std::function<Result<Timed>()>& once) {
    costs.push_back({.kind = kind, .about = about});
    return keep_cheapest(costs.back(), repeats, once);
  };

  Status status = add("zeros, write", "first write of anonymous memory", [&]() -> Result<Timed> {
    const Result<Mapping> memory = advised(bytes, MADV_NOHUGEPAGE);
    if (!memory) return memory.error();
    return timed([&] { write_each(memory->data(), page, pages); });
  });
  if (!status) return status.error();
  status = add("zeros, read", "first read: Linux maps its page of zeros", [&]() -> Result<Timed> {
    const Result<Mapping> memory = advised(bytes, MADV_NOHUGEPAGE);
    if (!memory) return memory.error();
    return timed([&] { read_each(memory->data(), page, pages); });
  });
  if (!status) return status.error();
  status = add("write after read", "the page of zeros is replaced", [&]() -> Result<Timed> {
    const Result<Mapping> memory = advised(bytes, MADV_NOHUGEPAGE);
    if (!memory) return memory.error();
    read_each(memory->data(), page, pages);
    return timed([&] { write_each(memory->data(), page, pages); });
  });
  if (!status) return status.error();
  status = add("copied after fork()", "first write while a child has the page, too",
               [&]() -> Result<Timed> {
                 const Result<Mapping> memory = advised(bytes, MADV_NOHUGEPAGE);
                 if (!memory) return memory.error();
                 write_each(memory->data(), page, pages);
                 const Result<SleepingChild> child = SleepingChild::create();
                 if (!child) return child.error();
                 return timed([&] { write_each(memory->data(), page, pages); });
               });
  if (!status) return status.error();
  status = add("file, cached", "first read of a mapped file in memory, 64 KiB apart",
               [&]() -> Result<Timed> {
                 const std::size_t size = pages * around_bytes / 16;
                 const Result<Descriptor> file = cached_file(size);
                 if (!file) return file.error();
                 const Result<Mapping> memory =
                     Mapping::create(size, PROT_READ | PROT_WRITE, MAP_SHARED, file->number());
                 if (!memory) return memory.error();
                 write_each(memory->data(), page, size / page);
                 const Result<Mapping> again =
                     Mapping::create(size, PROT_READ, MAP_SHARED, file->number());
                 if (!again) return again.error();
                 return timed([&] { read_each(again->data(), around_bytes, size / around_bytes); });
               });
  if (!status) return status.error();
  const std::size_t large = bytes_of(PageSize::large);
  status = add("zeros, 2 MiB", "first write of memory in transparent huge pages",
               [&]() -> Result<Timed> {
                 const std::size_t count = std::max<std::size_t>(4, bytes / large);
                 const Result<Mapping> memory = advised((count + 1) * large, MADV_HUGEPAGE);
                 if (!memory) return memory.error();
                 const auto address = reinterpret_cast<std::uintptr_t>(memory->data());
                 char* const begin = memory->data() + (large - address % large) % large;
                 Timed all = timed([&] { write_each(begin, large, count); });
                 // Every small page of it must be there now, or these were small pages.
                 const std::uint64_t before = faults_so_far();
                 write_each(begin, page, count * (large / page));
                 if (faults_so_far() != before) all.faults = 0;
                 return all;
               });
  if (!status) return status.error();
  if (costs.back().faults == 0) {
    costs.back().absent =
        "Linux gave small pages; as root: echo madvise > "
        "/sys/kernel/mm/transparent_hugepage/enabled";
  }
  return costs;
}

}  // namespace k2k::labs::translation
