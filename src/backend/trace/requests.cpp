#include "backend/trace/requests.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <string>

#include "calls/rows.hpp"
#include "device/queued_signal.hpp"

namespace k2k::backend::trace {

namespace {

// As calls/rows.hpp numbers them.
constexpr std::uint16_t mmap_number = 9;
constexpr std::uint16_t pread_number = 17;
constexpr std::uint16_t pwrite_number = 18;
constexpr std::uint16_t madvise_number = 28;
constexpr std::uint16_t nanosleep_number = 35;
constexpr std::uint16_t getpid_number = 39;
constexpr std::uint16_t rt_sigqueueinfo_number = 129;
constexpr std::uint16_t clock_gettime_number = 228;
constexpr std::uint16_t move_pages_number = 279;

constexpr std::size_t page = 4'096;

// The flags of the first mapping, so that pages of faults stay in one mapping with the rest.
constexpr int page_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// The arguments of move_pages(2) that lie in memory.
struct PageList {
  const void* addresses[pages_a_call_max];
  std::int32_t nodes[pages_a_call_max];
};

Status open_into(int& file, const char* path, int flags) {
  file = ::open(path, flags | O_CLOEXEC);
  if (file >= 0) return {};
  return Error{errno, std::string("a trace needs ") + path + ": " + std::strerror(errno)};
}

std::uint64_t word(int descriptor) { return static_cast<std::uint64_t>(descriptor); }
std::uint64_t word(std::int64_t number) { return static_cast<std::uint64_t>(number); }
std::uint64_t word(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace

Status Requests::prepare(const Source& source, std::uint32_t items) {
  memory_ = cpu::Pages(std::size_t{items} * item_bytes);
  if (memory_.empty()) {
    return Error{ENOMEM, "no address space for " + std::to_string(items) + " work-items of " +
                             std::to_string(item_bytes / 1024) +
                             " KiB; lower the outstanding requests (see ulimit -v)"};
  }
  process_ = ::getpid();
  Status done;
  if (done && source.uses(Operation::pread)) done = open_into(zeros_, "/dev/zero", O_RDONLY);
  if (done && source.uses(Operation::pwrite)) done = open_into(sink_, "/dev/null", O_WRONLY);
  if (done && source.uses(Operation::cost)) done = open_into(random_, "/dev/urandom", O_RDONLY);
  if (!done || !source.uses(Operation::cost)) return done;
  Result<std::vector<ReadCost>> costs = measured_reads();
  if (!costs) return costs.error();
  costs_ = std::move(costs).value();
  return {};
}

Requests::~Requests() {
  for (const int file : {zeros_, sink_, random_}) {
    if (file >= 0) ::close(file);
  }
}

TraceRequest Requests::make(const Event& event, std::uint32_t item) const {
  std::byte* const memory = memory_of(item);
  const auto bytes = static_cast<std::int64_t>(event.amount);
  switch (event.operation) {
    case Operation::nop:
      return {calls::nop_number, {}, 0};
    case Operation::getpid:
      return {getpid_number, {}, process_};
    case Operation::clock_gettime:
      return {clock_gettime_number, {{CLOCK_MONOTONIC, word(memory)}}, 0};
    case Operation::nanosleep: {
      constexpr std::uint64_t second = 1'000'000'000;
      new (memory) timespec{static_cast<time_t>(event.amount / second),
                            static_cast<long>(event.amount % second)};
      return {nanosleep_number, {{word(memory)}}, 0};
    }
    case Operation::pread:
      return {pread_number, {{word(zeros_), word(memory), event.amount}}, bytes};
    case Operation::pwrite:
      return {pwrite_number, {{word(sink_), word(memory), event.amount}}, bytes};
    case Operation::fault:
      return {mmap_number,
              {{word(memory), event.amount, PROT_READ | PROT_WRITE,
                word(page_flags | MAP_FIXED | MAP_POPULATE), ~std::uint64_t{0}}},
              static_cast<std::int64_t>(word(memory))};
    case Operation::cost: {
      const std::uint64_t size = size_taking(static_cast<double>(event.amount) / 1e3, costs_);
      return {pread_number, {{word(random_), word(memory), size}}, static_cast<std::int64_t>(size)};
    }
    case Operation::release:
      return {madvise_number, {{word(memory), event.amount, MADV_DONTNEED}}, 0};
    case Operation::move_pages: {
      auto* const pages = new (memory + pages_a_call_max * page) PageList{};
      for (std::size_t index = 0; index < event.amount; ++index) {
        pages->addresses[index] = memory + index * page;
      }
      return {move_pages_number,
              {{0, event.amount, word(&pages->addresses), 0, word(&pages->nodes), 0}},
              0};
    }
    case Operation::signal: {
      auto* const signal = new (memory) QueuedSignal{};
      signal->number = SIGURG;
      signal->code = SI_QUEUE;
      signal->process = static_cast<std::int32_t>(process_);
      return {rt_sigqueueinfo_number, {{word(process_), SIGURG, word(signal)}}, 0};
    }
  }
  return {};
}

}  // namespace k2k::backend::trace
