#include "backend/cpu/crash_report.hpp"

#include <pthread.h>
#include <sched.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "backend/cpu/fault_signal.hpp"
#include "backend/cpu/simt/running.hpp"
#include "backend/cpu/simt/unit.hpp"

namespace k2k::backend::cpu {

namespace {

// Also enough for the program's handler before ours.
constexpr std::size_t alternate_stack_bytes = 64 * 1024;
// Frames of this size may exceed the pages below a stack; a stack pointer further away belongs to a
// stack that Linux created itself.
constexpr std::uintptr_t overflow_bytes_max = 16 * 1024 * 1024;

// How long a second fault waits for the first one's line: the process' death would cut it.
constexpr int turns_to_wait = 100'000;

constexpr std::array<int, 2> signals{SIGSEGV, SIGFPE};
struct sigaction previous_actions[signals.size()];
bool below[signals.size()];     // Another handler stands above ours; guarded by `crash_changing`.
std::uint32_t crash_users = 0;  // Guarded by `crash_changing`.
std::mutex crash_changing;

// Another thread may hold a lock while this one forks: the child would wait for it for ever. The
// order is the order of CrashReports.
void lock_handlers() {
  crash_changing.lock();
  lock_fault_handlers();
}
void unlock_handlers() {
  unlock_fault_handlers();
  crash_changing.unlock();
}
[[maybe_unused]] const int crash_registered =
    ::pthread_atfork(lock_handlers, unlock_handlers, unlock_handlers);

enum class Told { nothing, telling, all };
std::atomic<Told> told{Told::nothing};

const char* name_of(int signal) {
  return signal == SIGSEGV ? "SIGSEGV" : signal == SIGFPE ? "SIGFPE" : "SIGBUS";
}

// One line, made without allocation or locks; longer text is cut.
class Line {
 public:
  Line& add(const char* text) {
    const std::size_t bytes = std::min(std::strlen(text), room());
    std::memcpy(text_ + used_, text, bytes);
    used_ += bytes;
    return *this;
  }
  Line& add(std::uint64_t number, int base = 10) {
    const auto [end, error] = std::to_chars(text_ + used_, text_ + used_ + room(), number, base);
    if (error == std::errc()) used_ = static_cast<std::size_t>(end - text_);
    return *this;
  }
  void print() {
    text_[used_++] = '\n';
    std::size_t done = 0;
    while (done < used_) {
      const ssize_t bytes = ::write(STDERR_FILENO, text_ + done, used_ - done);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) return;
      done += static_cast<std::size_t>(bytes);
    }
  }

 private:
  [[nodiscard]] std::size_t room() const { return sizeof(text_) - 1 - used_; }
  char text_[512];
  std::size_t used_ = 0;
};

// Decides by the stack pointer and the address: in debug builds the lowest page is a guard; in
// others a stack runs into the next until nothing is mapped.
bool overflowed(const WorkItem& me, std::uintptr_t stack_pointer, std::uintptr_t address) {
  const auto stack = reinterpret_cast<std::uintptr_t>(me.fibre->stack);
  const std::uintptr_t lowest = stack + (guard_pages ? page_bytes : 0);
  if (stack_pointer < lowest) return lowest - stack_pointer < overflow_bytes_max;
  const std::uintptr_t end = stack + me.unit->plan().stack_bytes + page_bytes;
  return guard_pages && stack_pointer < end && address >= stack && address < lowest;
}

void print(const WorkItem& me, int signal, const siginfo_t& info, const ucontext_t& context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  // The processor does not report a non-canonical address.
  const bool canonical = info.si_code != SI_KERNEL;
  Line line;
  line.add("k2k: kernel '").add(me.unit->launch().name).add("': work-item ");
  line.add(me.visible.rank).add(" of group ").add(me.visible.group).add(": ");
  const auto stack_pointer = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  const bool overflow = signal != SIGFPE && overflowed(me, stack_pointer, address);
  if (overflow) {
    line.add("the work-item's stack of ").add(me.unit->plan().stack_bytes / 1024);
    line.add(" KiB overflowed (");
  }
  line.add(name_of(signal));
  if (!canonical) {
    line.add(" at an address that is not canonical");
  } else {
    line.add(signal == SIGFPE ? " of the instruction at 0x" : " at the address 0x");
    line.add(address, 16);
  }
  if (overflow) line.add("); raise device.stack_bytes");
  line.print();
}

void on_crash(int signal, siginfo_t* info, void* context) {
  const int errno_before = errno;
  report_crash(signal, *info, context);
  pass_on(previous_actions[signal == signals[0] ? 0 : 1], signal, info, context);
  errno = errno_before;
}

void install(std::size_t index) {
  if (below[index]) return;  // Twice in the chain, it would call itself.
  struct sigaction ours{};
  ours.sa_sigaction = &on_crash;
  sigaction(signals[index], nullptr, &previous_actions[index]);
  ours.sa_flags =
      SA_SIGINFO | SA_RESTART | SA_ONSTACK | (previous_actions[index].sa_flags & SA_NODEFER);
  sigemptyset(&ours.sa_mask);
  sigaction(signals[index], &ours, nullptr);
}

void remove(std::size_t index) {
  struct sigaction current{};
  sigaction(signals[index], nullptr, &current);
  const bool on_top = (current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == &on_crash;
  below[index] = !on_top;
  if (on_top) sigaction(signals[index], &previous_actions[index], nullptr);
}

}  // namespace

void report_crash(int signal, const siginfo_t& info, const void* context) {
  const WorkItem* const me = running;
  // While the unit schedules, no work-item runs.
  const bool own = me != nullptr && me->fibre != nullptr && me->state == ItemState::running;
  if (!crashes_are_reported || !own || info.si_code <= 0) return;  // That is, sent.
  Told before = Told::nothing;
  if (told.compare_exchange_strong(before, Told::telling, std::memory_order_relaxed)) {
    print(*me, signal, info, *static_cast<const ucontext_t*>(context));
    told.store(Told::all, std::memory_order_relaxed);
    return;
  }
  for (int turn = 0; turn < turns_to_wait; ++turn) {
    if (told.load(std::memory_order_relaxed) == Told::all) return;
    sched_yield();
  }
}

CrashReports::CrashReports() {
  if constexpr (!crashes_are_reported) return;
  const std::lock_guard lock(crash_changing);
  install_fault_handler(FaultUser::device);
  if (crash_users++ != 0) return;
  told.store(Told::nothing, std::memory_order_relaxed);
  for (std::size_t index = 0; index < signals.size(); ++index) install(index);
}

CrashReports::~CrashReports() {
  if constexpr (!crashes_are_reported) return;
  const std::lock_guard lock(crash_changing);
  remove_fault_handler(FaultUser::device);
  if (--crash_users != 0) return;
  for (std::size_t index = 0; index < signals.size(); ++index) remove(index);
}

AlternateStack::AlternateStack() {
  if constexpr (!crashes_are_reported) return;
  pages_ = Pages(alternate_stack_bytes);
  if (pages_.empty()) return;  // Without it, only Linux reports the fault.
  stack_t stack{};
  stack.ss_sp = pages_.data();
  stack.ss_size = pages_.bytes();
  sigaltstack(&stack, nullptr);
}

AlternateStack::~AlternateStack() {
  if (pages_.empty()) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace k2k::backend::cpu
