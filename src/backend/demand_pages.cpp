#include "backend/demand_pages.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "backend/cpu/fault_signal.hpp"
#include "backend/device_regions.hpp"
#include "backend/page_filling.hpp"
#include "backend/page_generations.hpp"
#include "base/clock.hpp"
#include "base/own_descriptors.hpp"
#include "base/units.hpp"

namespace k2k::backend {

namespace {

using demand_pages_detail::regions;

constexpr std::size_t name_bytes = sizeof(FoundRegion::name);
constexpr auto unpin_look_again_after = std::chrono::microseconds(20);
// How often discards may overtake the read of a file's pages.
constexpr std::uint32_t overtaken_max = 8;

enum class PlaceState : std::uint32_t { free, live, retired };

// Plain members are written while the place is free and read while it is pinned.
struct Place {
  std::atomic<PlaceState> state{PlaceState::free};
  std::atomic<std::uint32_t> pins{0};     // Threads that look at it.
  std::atomic<std::uint32_t> fillers{0};  // Pins of threads that fill pages.
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::size_t page_bytes = demand_page_bytes;
  std::atomic<std::uint64_t> pages{0};
  std::atomic<std::uint64_t> in_place{0};
  std::atomic<std::uint64_t> discards{0};
  std::atomic<std::uint64_t> discard_cycles[discard_parts] = {};
  PageGenerations generations;
  int faults = -1;  // The userfaultfd.
  PageSource source = PageSource::zero;
  FaultHandling handling = FaultHandling::request;
  const std::byte* copy_from = nullptr;
  int file = -1;
  std::int64_t offset = 0;
  char name[name_bytes] = {};

  [[nodiscard]] bool meets(std::uintptr_t first, std::uintptr_t last) const {
    return begin.load(std::memory_order_acquire) < last &&
           first < end.load(std::memory_order_acquire);
  }
};

// Constant-initialised: the signal handler may read it before any other code ran.
constinit Place places[regions_max];
constinit std::atomic<std::uint32_t> places_used{0};  // Places ever used.
constinit std::atomic<std::uint32_t> kernel_runs{0};

constinit std::mutex table_mutex;  // Guards creation, retirement and freeing.

// In a child the parent's threads that held them are not. Nor are the ranges: MADV_DONTFORK.
void renew_table_mutex() {
  new (&table_mutex) std::mutex;
  for (Place& place : places) new (&place.generations) PageGenerations;
}
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, renew_table_mutex);

// Does its region meet [first, last)? Then the place stays as it is until unpin(): free -> live and
// retired -> free wait for it.
bool pin_if_met(Place& place, std::uintptr_t first, std::uintptr_t last) noexcept {
  if (!place.meets(first, last)) return false;
  place.pins.fetch_add(1, std::memory_order_seq_cst);  // Pairs with await_unpinned().
  if (place.state.load(std::memory_order_seq_cst) != PlaceState::free && place.meets(first, last)) {
    return true;
  }
  place.pins.fetch_sub(1, std::memory_order_release);
  return false;
}
void unpin(Place& place) noexcept { place.pins.fetch_sub(1, std::memory_order_release); }

// Keeps the place of an address as it is.
class Pin {
 public:
  explicit Pin(std::uintptr_t address) noexcept {
    const std::uint32_t used = places_used.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < used; ++index) {
      if (!pin_if_met(places[index], address, address + 1)) continue;
      place_ = &places[index];
      return;
    }
  }
  ~Pin() {
    if (place_ != nullptr) unpin(*place_);
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  explicit operator bool() const { return place_ != nullptr; }
  Place* operator->() const { return place_; }
  Place& operator*() const { return *place_; }
  [[nodiscard]] bool live() const {
    return place_ != nullptr && place_->state.load(std::memory_order_acquire) == PlaceState::live;
  }

 private:
  Place* place_ = nullptr;
};

void close_own(int descriptor) {
  if (descriptor < 0) return;
  set_own(descriptor, false);  // First: after close(), another thread may get the number.
  ::close(descriptor);
}

void await_unpinned(const Place& place) {
  while (place.pins.load(std::memory_order_seq_cst) != 0) {
    std::this_thread::sleep_for(unpin_look_again_after);
  }
}

// --- Pages.

// One staging buffer's worth.
Populated place_from_file(Place& place, std::uintptr_t to, std::size_t bytes, Reading reading,
                          std::span<std::byte> staging) {
  const std::span<std::byte> part = staging.first(std::min(bytes, staging.size()));
  const std::uintptr_t into = to - place.begin.load(std::memory_order_relaxed);
  const auto read = [&] {
    return read_pages(place.file, place.offset + static_cast<std::int64_t>(into), part, reading);
  };
  const auto put = [&](const Populated& got) {
    Populated placed = place_pages(place.faults, to, part.data(), got.bytes);
    if (placed.error == 0) placed.error = got.error;
    return placed;
  };
  for (std::uint32_t tries = 0; tries < overtaken_max; ++tries) {
    const std::uint64_t generation = place.generations.now();
    const Populated got = read();
    if (const Placing placing(place.generations, generation); placing) return put(got);
  }
  const Placing placing(place.generations);  // Discards wait: the fault has waited long enough.
  return put(read());
}

// The source may have to be read from a disk, or be delayed by another program's fault handler.
Populated place_copy(Place& place, std::uintptr_t to, std::size_t bytes, Reading reading) {
  const std::byte* const from =
      place.copy_from + (to - place.begin.load(std::memory_order_relaxed));
  std::size_t there = bytes;
  if (reading == Reading::blocking) {
    bring_into_memory(from, bytes);  // While discards need not wait for it.
  } else {
    there = resident_bytes(from, bytes);
  }
  Populated placed;
  if (there != 0) {
    const Placing placing(place.generations);
    placed = place_pages(place.faults, to, from, there);
  }
  if (placed.error == 0 && there != bytes) placed.error = EAGAIN;
  return placed;
}

// What a large page will hold, into zeroed memory. 0 or a positive errno.
int read_large(const Place& place, std::uintptr_t to, Reading reading, std::span<std::byte> into) {
  const std::uintptr_t at = to - place.begin.load(std::memory_order_relaxed);
  switch (place.source) {
    case PageSource::zero:
      return 0;
    case PageSource::copy:
      return copy_page(place.copy_from + at, into, reading);
    case PageSource::file:
      return read_page(place.file, place.offset + static_cast<std::int64_t>(at), into, reading);
  }
  return EINVAL;
}

// As place_from_file(), whatever the source: the page is made aside, then moved to its place.
Populated place_large_page(Place& place, std::uintptr_t to, Reading reading) {
  LargePage made;
  if (made.error() != 0) return {0, made.error(), 0};
  for (std::uint32_t tries = 0; tries < overtaken_max; ++tries) {
    const std::uint64_t generation = place.generations.now();
    if (const int error = read_large(place, to, reading, made.bytes()); error != 0) {
      return {0, error, 0};
    }
    if (const Placing placing(place.generations, generation); placing) {
      return made.place(place.faults, to);
    }
  }
  const Placing placing(place.generations);  // Discards wait: the fault has waited long enough.
  const int error = read_large(place, to, reading, made.bytes());
  return error != 0 ? Populated{0, error, 0} : made.place(place.faults, to);
}

// Pages that are placed whole: [begin, begin + bytes) meets them.
__attribute__((noinline)) Populated place_large(Place& place, std::uintptr_t begin,
                                                std::size_t bytes, Reading reading) {
  Populated done;
  std::uintptr_t page = begin / large_page_bytes * large_page_bytes;
  for (; page < begin + bytes; page += large_page_bytes) {
    const auto* const there = reinterpret_cast<const std::byte*>(page);
    if (resident_bytes(there, large_page_bytes) < large_page_bytes) {
      const Populated placed = place_large_page(place, page, reading);
      done.error = placed.error;
      if (placed.error != 0) return done;
      done.placed_bytes += placed.placed_bytes;
    }
    done.bytes = page + large_page_bytes - begin;
  }
  return done;
}

Populated populate_part(std::uintptr_t begin, std::size_t bytes, PageAccess access, Reading reading,
                        std::span<std::byte> staging) {
  const Pin pin(begin);
  if (!pin) return {0, EFAULT, 0};
  if (!pin.live()) return {0, ESTALE, 0};
  // This may last long: a retirement does not wait for it. Pages that it places too late are
  // unmapped with the rest.
  pin->fillers.fetch_add(1, std::memory_order_seq_cst);
  const std::size_t part =
      std::min<std::size_t>(bytes, pin->end.load(std::memory_order_relaxed) - begin);
  Populated done;
  const bool large = pin->page_bytes != demand_page_bytes;
  if (__builtin_expect(large, 0)) {
    done = place_large(*pin, begin, part, reading);
  } else if (pin->source == PageSource::zero) {  // The same in every generation.
    done = place_zeros(pin->faults, begin, part, access);
  } else if (pin->source == PageSource::copy) {
    done = place_copy(*pin, begin, part, reading);
  } else {
    done = place_from_file(*pin, begin, part, reading, staging);
  }
  pin->fillers.fetch_sub(1, std::memory_order_seq_cst);
  if (!pin.live()) return {0, ESTALE, 0};
  pin->pages.fetch_add(done.placed_bytes / (large ? large_page_bytes : demand_page_bytes),
                       std::memory_order_relaxed);
  return done;
}

// --- Regions.

Error refused_userfaultfd(int code) {
  if (code == ENOSYS) {
    return {ENOSYS,
            "this Linux has no userfaultfd, on which demand-paged regions stand; they "
            "need a Linux with CONFIG_USERFAULTFD"};
  }
  return {code,
          std::string("userfaultfd is refused (") + std::strerror(code) +
              "), on which demand-paged regions stand; set vm.unprivileged_userfaultfd = 1 with "
              "sysctl, or allow the system call in the container's seccomp profile"};
}

Result<int> open_userfaultfd() {
  // Accesses by Linux itself fail with EFAULT in SIGBUS mode anyway, so that the right to handle
  // such faults, which the setting guards, is not needed from Linux 5.11 on.
  long opened = ::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
  if (opened < 0 && errno == EINVAL) opened = ::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return refused_userfaultfd(errno);
  const int faults = static_cast<int>(opened);
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_SIGBUS;
  if (::ioctl(faults, UFFDIO_API, &api) != 0) {
    const int code = errno;
    ::close(faults);
    return Error{code, std::string("userfaultfd gives no SIGBUS mode (") + std::strerror(code) +
                           "); demand-paged regions need Linux 4.14"};
  }
  return faults;
}

// Unmaps ranges that no kernel can hold any more. Expects table_mutex held.
void free_retired() {
  if (kernel_runs.load(std::memory_order_seq_cst) != 0) return;
  for (std::uint32_t index = 0; index < places_used.load(std::memory_order_relaxed); ++index) {
    Place& place = places[index];
    if (place.state.load(std::memory_order_relaxed) != PlaceState::retired) continue;
    if (place.fillers.load(std::memory_order_seq_cst) != 0) continue;
    place.state.store(PlaceState::free, std::memory_order_seq_cst);
    await_unpinned(place);
    const std::uintptr_t begin = place.begin.load(std::memory_order_relaxed);
    const std::uintptr_t end = place.end.load(std::memory_order_relaxed);
    place.begin.store(0, std::memory_order_relaxed);
    place.end.store(0, std::memory_order_relaxed);
    ::munmap(reinterpret_cast<void*>(begin), end - begin);
    close_own(place.faults);
    close_own(place.file);
    place.faults = place.file = -1;
    if (regions.fetch_sub(1, std::memory_order_seq_cst) == 1)
      cpu::remove_fault_handler(cpu::FaultUser::region);
  }
}

}  // namespace

Status check(const RegionPlan& plan) {
  const std::string what = "demand region '" + plan.name + "': ";
  if (plan.page_bytes != demand_page_bytes && plan.page_bytes != large_page_bytes) {
    return Error{EINVAL, what + "pages of " + std::to_string(plan.page_bytes) +
                             " bytes; a page has " + std::to_string(demand_page_bytes) + " or " +
                             std::to_string(large_page_bytes) + " bytes"};
  }
  if (plan.bytes == 0 || plan.bytes % plan.page_bytes != 0) {
    return Error{EINVAL, what + std::to_string(plan.bytes) +
                             " bytes; a region has whole pages of " +
                             std::to_string(plan.page_bytes) + " bytes, at least one"};
  }
  if (plan.source == PageSource::copy && plan.copy_from == nullptr) {
    return Error{EINVAL, what + "no memory to copy from (a null pointer)"};
  }
  if (plan.source == PageSource::file && plan.offset < 0) {
    return Error{EINVAL, what + "the offset in the file is " + std::to_string(plan.offset) +
                             "; it must be at least 0"};
  }
  return {};
}

Result<RegionHandle> create_region(const RegionPlan& plan) {
  if (Status fits = check(plan); !fits) return fits.error();
  const std::string what = "demand region '" + plan.name + "': ";
  const std::lock_guard lock(table_mutex);
  free_retired();
  Place* const end = places + regions_max;
  Place* const place = std::find_if(places, end, [](const Place& candidate) {
    return candidate.state.load(std::memory_order_relaxed) == PlaceState::free;
  });
  if (place == end) {
    return Error{ENOSPC, what + "there are " + std::to_string(regions_max) +
                             " regions already, as many as a process may have; destroy some (what "
                             "was destroyed while a kernel runs counts until it ends)"};
  }
  const Result<int> faults = open_userfaultfd();
  if (!faults) return Error{faults.error().code, what + faults.error().message};
  int file = -1;
  if (plan.source == PageSource::file) {
    file = ::fcntl(plan.descriptor, F_DUPFD_CLOEXEC, 0);
    if (file < 0) {
      const int code = errno;
      ::close(faults.value());
      return Error{code, what + "descriptor " + std::to_string(plan.descriptor) +
                             " cannot be used: " + std::strerror(code)};
    }
  }
  void* const data = map_pages(plan.bytes, plan.page_bytes);
  uffdio_register wish{};
  wish.range = {reinterpret_cast<std::uint64_t>(data), plan.bytes};
  wish.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (data == MAP_FAILED || ::ioctl(faults.value(), UFFDIO_REGISTER, &wish) != 0) {
    const int code = errno;
    if (data != MAP_FAILED) ::munmap(data, plan.bytes);
    ::close(faults.value());
    if (file >= 0) ::close(file);
    return Error{code, what + "no address space for " + std::to_string(plan.bytes) +
                           " bytes: " + std::strerror(code) + "; ask for less (see ulimit -v)"};
  }
  // A child has neither the server nor the registration: pages would silently be zero there.
  ::madvise(data, plan.bytes, MADV_DONTFORK);

  place->faults = faults.value();
  set_own(place->faults, true);
  set_own(file, true);
  place->source = plan.source;
  place->handling = plan.handling;
  place->copy_from = plan.copy_from;
  place->file = file;
  place->offset = plan.offset;
  std::memset(place->name, 0, name_bytes);
  plan.name.copy(place->name, name_bytes - 1);
  place->pages.store(0, std::memory_order_relaxed);
  place->in_place.store(0, std::memory_order_relaxed);
  place->discards.store(0, std::memory_order_relaxed);
  for (std::atomic<std::uint64_t>& part : place->discard_cycles) {
    part.store(0, std::memory_order_relaxed);
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  place->begin.store(begin, std::memory_order_relaxed);
  place->end.store(begin + plan.bytes, std::memory_order_relaxed);
  place->page_bytes = plan.page_bytes;
  // Pairs with Pin: a thread that sees the state sees the rest.
  place->state.store(PlaceState::live, std::memory_order_seq_cst);
  const auto index = static_cast<std::uint32_t>(place - places);
  if (index >= places_used.load(std::memory_order_relaxed)) {
    places_used.store(index + 1, std::memory_order_release);
  }
  if (regions.fetch_add(1, std::memory_order_seq_cst) == 0)
    cpu::install_fault_handler(cpu::FaultUser::region);
  return RegionHandle{index, static_cast<std::byte*>(data), nullptr};
}

void retire_region(RegionHandle region) {
  if (region.pages != nullptr) return retire_pages(std::move(region.pages));
  const std::lock_guard lock(table_mutex);
  Place& place = places[region.place];
  K2K_EXPECT(place.state.load(std::memory_order_relaxed) == PlaceState::live);
  const std::uintptr_t begin = place.begin.load(std::memory_order_relaxed);
  place.state.store(PlaceState::retired, std::memory_order_seq_cst);  // Pairs with Pin::live().
  // Waits for threads that only read: a place with a filler is freed later.
  while (place.pins.load(std::memory_order_seq_cst) >
         place.fillers.load(std::memory_order_seq_cst)) {
    std::this_thread::sleep_for(unpin_look_again_after);
  }
  ::madvise(reinterpret_cast<void*>(begin), place.end.load(std::memory_order_relaxed) - begin,
            MADV_DONTNEED);
  free_retired();
}

RegionCounters region_counters(const RegionHandle& region) {
  if (region.pages != nullptr) return {};
  const Place& place = places[region.place];
  RegionCounters counters;
  counters.pages = place.pages.load(std::memory_order_relaxed);
  counters.in_place = place.in_place.load(std::memory_order_relaxed);
  counters.discards = place.discards.load(std::memory_order_relaxed);
  for (std::size_t part = 0; part < discard_parts; ++part) {
    counters.discard_cycles[part] = place.discard_cycles[part].load(std::memory_order_relaxed);
  }
  return counters;
}

FoundRegion find_region(std::uintptr_t address) noexcept {
  FoundRegion found;
  const Pin pin(address);
  if (!pin) return found;
  found.found = true;
  found.live = pin.live();
  found.handling = pin->handling;
  found.begin = pin->begin.load(std::memory_order_relaxed);
  found.end = pin->end.load(std::memory_order_relaxed);
  found.page_bytes = pin->page_bytes;
  std::memcpy(found.name, pin->name, name_bytes);
  return found;
}

void count_in_place(std::uintptr_t address) noexcept {
  if (const Pin pin(address); pin) pin->in_place.fetch_add(1, std::memory_order_relaxed);
}

Populated populate(std::uintptr_t begin, std::size_t bytes, PageAccess access, Reading reading,
                   std::span<std::byte> staging) noexcept {
  const std::uintptr_t first = begin / demand_page_bytes * demand_page_bytes;
  const std::size_t wanted =
      (begin + bytes - first + demand_page_bytes - 1) / demand_page_bytes * demand_page_bytes;
  Populated done;
  while (done.bytes < wanted) {
    const Populated part =
        populate_part(first + done.bytes, wanted - done.bytes, access, reading, staging);
    done.bytes += part.bytes;
    done.placed_bytes += part.placed_bytes;
    done.error = part.error;
    if (part.error != 0) break;
  }
  return done;
}

int populate_missing(std::uintptr_t begin, std::size_t bytes, PageAccess access,
                     Reading reading) noexcept {
  alignas(demand_page_bytes) std::byte staging[4 * demand_page_bytes];
  const std::uintptr_t end = begin + bytes < begin ? UINTPTR_MAX : begin + bytes;
  for (std::uint32_t index = 0; index < places_used.load(std::memory_order_acquire); ++index) {
    const std::uintptr_t region_begin = places[index].begin.load(std::memory_order_acquire);
    const std::uintptr_t region_end = places[index].end.load(std::memory_order_acquire);
    std::uintptr_t page = std::max(begin, region_begin) / demand_page_bytes * demand_page_bytes;
    const std::uintptr_t last = std::min(end, region_end);
    while (page < last) {
      unsigned char resident[residency_pages];
      const std::size_t count =
          std::min(residency_pages, (last - page - 1) / demand_page_bytes + 1);
      if (::mincore(reinterpret_cast<void*>(page), count * demand_page_bytes, resident) != 0) {
        std::memset(resident, 0, sizeof(resident));  // populate() reports the error.
      }
      for (std::size_t from = 0; from < count;) {
        std::size_t to = from;
        while (to < count && (resident[to] & 1) == (resident[from] & 1)) ++to;
        if ((resident[from] & 1) == 0) {
          const Populated done =
              populate(page + from * demand_page_bytes, (to - from) * demand_page_bytes, access,
                       reading, staging);
          if (done.error != 0) return done.error;
        }
        from = to;
      }
      page += count * demand_page_bytes;
    }
  }
  return 0;
}

Removal::Removal(std::uintptr_t begin, std::size_t bytes, std::uint64_t called) noexcept
    : moments_{called} {
  static_assert(regions_max <= 8 * sizeof(met_));
  const std::uintptr_t end = begin + bytes < begin ? UINTPTR_MAX : begin + bytes;
  const std::uint32_t used = places_used.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < used; ++index) {
    Place& place = places[index];
    if (!pin_if_met(place, begin, end)) continue;
    // It may wait for a placement, and a retirement does not wait for it.
    place.fillers.fetch_add(1, std::memory_order_seq_cst);
    place.generations.begin_next();
    met_ |= std::uint64_t{1} << index;
  }
  moments_[1] = cycles();
}

Removal::~Removal() {
  moments_[2] = cycles();
  for (std::uint64_t left = met_; left != 0; left &= left - 1) {
    Place& place = places[std::countr_zero(left)];
    place.fillers.fetch_sub(1, std::memory_order_seq_cst);
    place.discards.fetch_add(1, std::memory_order_relaxed);
    const auto count = [&place](DiscardPart part, std::uint64_t from, std::uint64_t to) {
      place.discard_cycles[static_cast<std::size_t>(part)].fetch_add(to - from,
                                                                     std::memory_order_relaxed);
    };
    count(DiscardPart::initialise, moments_[0], moments_[1]);
    count(DiscardPart::remove, moments_[1], moments_[2]);
    count(DiscardPart::finalise, moments_[2], cycles());
    unpin(place);
  }
}

int fit_to_pages(std::uintptr_t begin, std::size_t& bytes) noexcept {
  if (bytes == 0 || begin + bytes < begin) return 0;  // Linux answers.
  if (const Pin pin(begin); pin && pin->page_bytes == large_page_bytes) {
    if (begin % large_page_bytes != 0) return EINVAL;
  }
  const std::uintptr_t end = begin + bytes;
  if (const Pin pin(end - 1); pin && pin->page_bytes == large_page_bytes) {
    // Linux rounds up to its own pages first.
    const std::uintptr_t up = (end + demand_page_bytes - 1) / demand_page_bytes * demand_page_bytes;
    bytes = up / large_page_bytes * large_page_bytes - begin;
  }
  return 0;
}

int discard(std::uintptr_t begin, std::size_t bytes, std::uint64_t called) noexcept {
  const Removal removal(begin, bytes, called);
  return ::madvise(reinterpret_cast<void*>(begin), bytes, MADV_DONTNEED) == 0 ? 0 : errno;
}

KernelRuns::KernelRuns() noexcept { kernel_runs.fetch_add(1, std::memory_order_seq_cst); }

bool kernels_run() noexcept { return kernel_runs.load(std::memory_order_seq_cst) != 0; }

KernelRuns::~KernelRuns() {
  if (kernel_runs.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  free_retired_pages();
  if (!any_region()) return;
  const std::lock_guard lock(table_mutex);
  free_retired();
}

}  // namespace k2k::backend
