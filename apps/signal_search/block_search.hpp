#pragma once
// A work-group looks up a block and tells the host by a queued signal with the block's number
// (thesis, section 3.8.2): at work-group scope, detached, so that the group goes on at once.
//
// Linux limits the signals that may be pending (RLIMIT_SIGPENDING), and a detached call has nobody
// whom the error EAGAIN could reach. So at most `credits` signals are on their way unattended:
//
//   issued - taken < credits   the signal is sent detached
//   otherwise                  item 0 waits for the answer, and sends again while the queue is full
//
// If the queue stays full beyond `tries`, the group goes on: `ready` is set before any signal, and
// the host looks through it at the end. A signal tells when, never whether.
//
// Threading: device code; every item of a group calls search_blocks().

#include "apps/signal_search/job.hpp"
#include "device/k2k.hpp"

namespace k2k::signal_search {

inline constexpr std::int32_t code_queued = -1;  // SI_QUEUE
inline constexpr long queue_full = -11;          // -EAGAIN

struct Wrapped {
  K2K_DEVICE static void send(const Job& job, const QueuedSignal& signal) {
    k2k::rt_sigqueueinfo(k2k::work_group, k2k::relaxed | k2k::detached, job.process, job.number,
                         &signal);
  }
  // Item 0 alone.
  K2K_DEVICE static long send_and_wait(const Job& job, const QueuedSignal& signal) {
    return k2k::rt_sigqueueinfo(k2k::work_item, job.process, job.number, &signal);
  }
};

struct Decision {
  std::uint32_t unattended;
};

// Takes a credit if one is left.
K2K_DEVICE inline bool take_credit(const Job& job) {
  k2k::AtomicRef issued(*job.issued);
  const std::uint32_t taken =
      k2k::AtomicRef(*job.taken).load(k2k::memory_order_relaxed, k2k::memory_scope_system);
  std::uint32_t seen = issued.load(k2k::memory_order_relaxed);
  while (static_cast<std::int32_t>(seen - taken) < static_cast<std::int32_t>(job.credits)) {
    if (issued.compare_exchange(seen, seen + 1)) return true;
  }
  return false;
}

// Sends until the queue takes the signal. Once a group has tried in vain, the others try once each,
// until one of them succeeds: a queue that others hold full must not cost every block all tries.
template <class How>
K2K_DEVICE inline void insist(const Job& job, const QueuedSignal& signal) {
  k2k::AtomicRef in_vain(*job.in_vain);
  for (std::uint32_t tried = 0; tried < job.tries; ++tried) {
    if (How::send_and_wait(job, signal) != queue_full) {
      k2k::AtomicRef(*job.issued).fetch_add(1, k2k::memory_order_relaxed);  // The host counts all.
      in_vain.store(0, k2k::memory_order_relaxed);
      return;
    }
    k2k::AtomicRef(*job.retries).fetch_add(1, k2k::memory_order_relaxed);
    if (in_vain.load(k2k::memory_order_relaxed) != 0) return;
    k2k::yield();
  }
  in_vain.store(1, k2k::memory_order_relaxed);
}

template <class How>
K2K_DEVICE inline void tell(const Job& job, std::uint32_t block, Decision& decision) {
  const bool first = k2k::item_rank() == 0;
  k2k::barrier();  // The block is complete.
  if (first) {
    // Pairs with the host's look at the word.
    k2k::AtomicRef(job.ready[block]).store(1, k2k::memory_order_release, k2k::memory_scope_system);
    decision.unattended = job.number != 0 && take_credit(job) ? 1 : 0;
  }
  k2k::barrier();
  if (job.number == 0) return;
  QueuedSignal signal{};
  signal.number = job.number;
  signal.code = code_queued;
  signal.process = job.process;
  signal.value = block;
  if (decision.unattended != 0) {
    How::send(job, signal);
  } else if (first) {
    insist<How>(job, signal);
  }
}

template <class How>
K2K_DEVICE inline void search_blocks(const Job& job) {
  K2K_LOCAL(Decision, decision);
  for (std::uint32_t block = k2k::group_rank(); block < job.blocks; block += k2k::group_count()) {
    const BlockRange range = range_of(job, block);
    for (std::uint64_t place = k2k::item_rank(); place < range.count; place += k2k::group_size()) {
      look_up(job, range.first + place);
    }
    tell<How>(job, block, decision);
  }
}

}  // namespace k2k::signal_search
