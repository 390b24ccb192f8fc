#include "backend/cpu/fault_signal.hpp"

#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "backend/cpu/crash_report.hpp"
#include "backend/cpu/simt/running.hpp"
#include "backend/cpu/simt/unit.hpp"
#include "backend/demand_pages.hpp"
#include "base/clock.hpp"
#include "device/submit.hpp"

#if !defined(AT_MINSIGSTKSZ)
#define AT_MINSIGSTKSZ 51
#endif

namespace k2k::backend::cpu {

namespace {

// For the handler's own frames, including a page for reading a file, and as much for Linux.
constexpr std::size_t handler_stack_bytes = 8 * 1024;
constexpr std::size_t kernel_stack_bytes = 8 * 1024;
constexpr std::size_t frame_bytes_max = 12 * 1024;  // If Linux does not report it: AVX-512 and AMX.

// Two handlers with the same function: the second one is put above another program's handler.
constexpr std::size_t levels = 2;
struct sigaction previous[levels];
std::atomic<bool> in_place[levels];

std::mutex changing;
std::uint32_t users[2] = {};  // By FaultUser; guarded by `changing`.

using FaultOptions = decltype(k2k::halting);

// Returns the work-item with this stack, or nullptr: `running` is also set while its unit
// schedules.
WorkItem* on_fibre(const std::byte* frame) {
  WorkItem* const me = running;
  if (me == nullptr || me->fibre == nullptr) return nullptr;
  const std::byte* const stack = me->fibre->stack;
  const std::size_t bytes = me->unit->plan().stack_bytes + page_bytes;
  // Below its stack, too, where an overflow is reported from.
  return frame >= stack - page_bytes && frame < stack + bytes ? me : nullptr;
}

bool is_write([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  constexpr greg_t write_bit = 2;  // Of the page-fault error code.
  return (context.uc_mcontext.gregs[REG_ERR] & write_bit) != 0;
#else
  return true;
#endif
}

const char* reason_of(int error) {
  switch (error) {
    case ESTALE:
      return "the region was destroyed";
    case ENXIO:
      return "the file ends before this page";
    case ENOMEM:
      return "no memory for the page; raise the memory limit of the control group";
    case EIO:
      return "the file cannot be read (EIO); see Linux' log (dmesg) about its device";
    case ECANCELED:
      return "the runtime ended before the fault was served";
    default:
      return strerrordesc_np(error);
  }
}

void describe(char* text, std::size_t bytes, std::uintptr_t address, const FoundRegion& region,
              int error) {
  const char* const reason = reason_of(error);
  std::snprintf(text, bytes, "fault at %#lx in demand region '%s' [%#lx, %#lx): %s",
                static_cast<unsigned long>(address), region.name,
                static_cast<unsigned long>(region.begin), static_cast<unsigned long>(region.end),
                reason == nullptr ? "unknown error" : reason);
}

// --- As a request.

struct Moments {
  std::uint64_t entered = 0;
  std::uint64_t published = 0;
  std::uint64_t accepted = 0;
  std::uint64_t answered = 0;
  std::uint64_t resumed = 0;
};

void record(telemetry::RequestTimes* times, const Moments& at) {
  if (times == nullptr) return;
  // The clocks of two cores may disagree a little.
  const auto gap = [](std::uint64_t from, std::uint64_t to) { return to > from ? to - from : 0; };
  using telemetry::RequestPart;
  times->record(RequestPart::initialisation, gap(at.entered, at.published));
  times->record(RequestPart::scheduling, gap(at.published, at.accepted));
  times->record(RequestPart::processing, gap(at.accepted, at.answered));
  times->record(RequestPart::completion, gap(at.answered, at.resumed));
  times->record(RequestPart::total, gap(at.entered, at.resumed));
}

// --- Together: lanes of a wave that touch the same missing page make one request.
//
// The lanes of a wave run on one thread, so its lists need no atomics. Not instrumented for
// ThreadSanitizer, as all state of a unit.

std::uint8_t& fault_list_of(Wave& wave, std::uintptr_t page) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // Multiplicative hashing (Knuth, 6.4).
  return wave.fault_lists[page * golden >> 58];
}

// Has another lane asked for the page? Then this lane waits until that one has its answer, and its
// access is tried again. Otherwise it is now known to ask.
__attribute__((no_sanitize("thread"), noinline)) bool shares_request(WorkItem& me,
                                                                     std::uintptr_t page) {
  std::uint8_t& list = fault_list_of(*me.wave, page);
  for (std::uint8_t lane = list; lane != 0;) {
    WorkItem& other = me.wave->first[lane - 1];
    if (other.fault_page == page) {
      me.next = other.fault_sharers;
      other.fault_sharers = &me;
      me.state = ItemState::at_page;
      me.unit->turns().suspend(me);
      return true;
    }
    lane = other.fault_next;
  }
  me.fault_page = page;
  me.fault_sharers = nullptr;
  me.fault_next = list;
  list = static_cast<std::uint8_t>(me.visible.lane + 1);
  return false;
}

__attribute__((no_sanitize("thread"), noinline)) void has_asked(WorkItem& me) {
  std::uint8_t* link = &fault_list_of(*me.wave, me.fault_page);
  while (*link != me.visible.lane + 1) link = &me.wave->first[*link - 1].fault_next;
  *link = me.fault_next;
  me.fault_page = 0;
  for (WorkItem* sharer = me.fault_sharers; sharer != nullptr;) {
    WorkItem& ready = *sharer;
    sharer = ready.next;
    me.unit->turns().make_ready(ready);
  }
}

// 0 or a positive errno.
int ask_for_page(WorkItem& me, std::uintptr_t address, PageAccess access, std::uint64_t entered) {
  const protocol::AreaView& area = *me.visible.area;
  device::Words words{};
  words.word[0] = address;
  words.word[1] = 1;
  words.word[2] = access == PageAccess::write ? 1 : 0;
  const device::Handle handle =
      device::submit<k2k::WorkItem, FaultOptions>(calls::fault_in_number, words);
  if (!handle.live()) return ECANCELED;
  const std::uint64_t rung = cycles();
  const protocol::Slot& slot = area.slot(handle.place.wave, handle.place.lane);
  Moments at;
  at.entered = entered;
  at.published = rung - cycles_since(slot.stamp, rung);
  device::platform::wait(slot, device::platform::Wait::halted);
  // Read before finish() gives the slot away.
  if (observe(slot).state == protocol::SlotState::finished) {
    at.accepted = slot.arguments[protocol::answer_word::begun];
    at.answered = slot.arguments[protocol::answer_word::done];
  }
  const Reply reply = device::finish(area, handle, device::platform::Wait::halted);
  if (!reply.ok()) return reply.error();
  at.resumed = cycles();
  if (at.answered != 0) record(me.unit->fault_times(), at);
  return 0;
}

// --- Right here.

int resolve_here(std::uintptr_t address, PageAccess access) {
  alignas(demand_page_bytes) std::array<std::byte, demand_page_bytes> staging;
  const Populated done = populate(address, 1, access, Reading::blocking, staging);
  if (done.error == 0) count_in_place(address);
  return done.error;
}

// --- Faults that are not K2K's.

void not_ours(std::size_t level, int signal, siginfo_t* info, void* context) {
  const bool first = level + 1 == levels || !in_place[level + 1].load(std::memory_order_relaxed);
  if (first) report_crash(signal, *info, context);
  pass_on(previous[level], signal, info, context);
}

__attribute__((noinline)) void handle(std::size_t level, int signal, siginfo_t* info,
                                      void* context) {
  const std::uint64_t entered = cycles();
#if defined(K2K_TSAN)
  // Its interceptor blocks all signals around a handler; the next fibre could not fault.
  pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
#endif
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  FoundRegion region;
  if (info->si_code == BUS_ADRERR && any_region()) region = find_region(address);
  if (!region.found) return not_ours(level, signal, info, context);
  const PageAccess access =
      is_write(*static_cast<ucontext_t*>(context)) ? PageAccess::write : PageAccess::read;
  const auto* const frame = static_cast<const std::byte*>(__builtin_frame_address(0));
  WorkItem* const me = on_fibre(frame);
  if (me != nullptr && frame < me->fibre->stack + handler_stack_bytes) {
    me->unit->turns().overflowed(*me);
  }
  int error = ESTALE;
  if (region.live && me != nullptr && region.handling == FaultHandling::request) {
    if (shares_request(*me, address & ~(region.page_bytes - 1))) return;
    error = ask_for_page(*me, address, access, entered);
    has_asked(*me);
  } else if (region.live) {
    error = resolve_here(address, access);
  }
  if (error != 0) {
    char text[256];
    describe(text, sizeof(text), address, region, error);
    if (me != nullptr) me->unit->fail(*me, error, text);
    std::fprintf(stderr, "k2k: %s\n", text);
    return pass_on(previous[level], signal, info, context);
  }
}

// The thread's errno is shared by all its fibres: ThreadSanitizer would report a race.
template <std::size_t level>
__attribute__((no_sanitize("thread"))) void on_fault(int signal, siginfo_t* info, void* context) {
  const int errno_before = errno;
  handle(level, signal, info, context);
  errno = errno_before;
}
constexpr void (*handlers[levels])(int, siginfo_t*, void*) = {&on_fault<0>, &on_fault<1>};

// Which of our handlers is on top; `levels`: another one is.
std::size_t level_on_top() {
  struct sigaction current{};
  sigaction(SIGBUS, nullptr, &current);
  std::size_t level = 0;
  while (level < levels && current.sa_sigaction != handlers[level]) ++level;
  return level;
}

void put_on_top(std::size_t level) {
  struct sigaction ours{};
  ours.sa_sigaction = handlers[level];
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, nullptr, &previous[level]);
  in_place[level].store(true, std::memory_order_relaxed);
  sigaction(SIGBUS, &ours, nullptr);
}

}  // namespace

void pass_on(const struct sigaction& to, int signal, siginfo_t* info, void* context) {
  if ((to.sa_flags & SA_SIGINFO) != 0 && to.sa_sigaction != nullptr) {
    return to.sa_sigaction(signal, info, context);
  }
  if (to.sa_handler != SIG_DFL && to.sa_handler != SIG_IGN) return to.sa_handler(signal);
  const bool sent = info->si_code <= 0;  // By kill(2) and its like.
  if (sent && to.sa_handler == SIG_IGN) return;
  // As Linux would: an ignored fault also ends the process. The access is retried and meets the
  // default; a sent signal is sent again.
  struct sigaction fallback{};
  fallback.sa_handler = SIG_DFL;
  sigaction(signal, &fallback, nullptr);
  if (sent) raise(signal);
}

void install_fault_handler(FaultUser user) {
  const std::lock_guard lock(changing);
  const bool first = users[static_cast<std::size_t>(user)]++ == 0;
  if (!first || level_on_top() < levels) return;
  if (!in_place[0].load(std::memory_order_relaxed)) {
    put_on_top(0);
  } else if (user == FaultUser::region && !in_place[1].load(std::memory_order_relaxed)) {
    put_on_top(1);
  }
}

void remove_fault_handler(FaultUser user) {
  const std::lock_guard lock(changing);
  --users[static_cast<std::size_t>(user)];
  if (users[0] + users[1] != 0) return;
  for (std::size_t level = level_on_top(); level < levels; level = level_on_top()) {
    sigaction(SIGBUS, &previous[level], nullptr);
    in_place[level].store(false, std::memory_order_relaxed);
  }
}

void lock_fault_handlers() { changing.lock(); }
void unlock_fault_handlers() { changing.unlock(); }

std::size_t fault_stack_bytes() {
  const std::size_t frame = getauxval(AT_MINSIGSTKSZ);
  return (frame == 0 ? frame_bytes_max : frame) + handler_stack_bytes + kernel_stack_bytes;
}

}  // namespace k2k::backend::cpu
