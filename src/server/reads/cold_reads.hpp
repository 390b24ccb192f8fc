#pragma once
// The thread that makes cold reads by a ring (ring_reads.hpp), and the queue of reads for it.
//
//   take() ──▶ queue ── event descriptor ──▶ k2k/reads: submit, wait ──▶ answered
//     │                                          └─ no ring here, or not for this read
//     └─ not for a ring ─▶ thread pool ◀─────────┘
//
// So no thread sleeps in such a read, and the pool does not bound how many are in flight. Linux
// copies on this thread, so the thread's ledger and the cap count the copies. The thread and its
// ring are created for the first read. While no read is in flight the thread sleeps without a
// timer.
//
// Threading: from anywhere; one lock. Lock order: this lock, then ServiceThreads.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "io/engine/ring.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/set_aside_parts.hpp"
#include "server/reads/ring_reads.hpp"

namespace k2k::server {

class ColdReads {
 public:
  using MakeRing = Result<io::Ring> (*)(std::uint32_t entries);
  explicit ColdReads(const SetAsideParts& parts,
                     MakeRing make_ring = io::Ring::create_for_this_thread)
      : parts_(parts), make_ring_(make_ring), queue_(parts.places) {}
  ColdReads(const ColdReads&) = delete;
  ColdReads& operator=(const ColdReads&) = delete;

  // `event` is an eventfd(2) that a read waits for. Before the first call.
  void wake_by(Descriptor event) { event_ = std::move(event); }

  // Takes a call that was tried and would wait. Returns false if it does not suit a ring, the
  // system gives no ring or no thread, stop() was called, or the host program closed the event
  // descriptor. Then a thread that may block must make the call.
  bool take(const Pending& call);

  // Answers ECANCELED to the reads that are not submitted yet, and ends the thread once no read is
  // in flight.
  void stop();

 private:
  void run(ServiceThread& self);
  void serve(ServiceThread& self, RingReads& reads);
  // Moves queued reads to the ring, or ends the reads of a launch that has ended early. Returns
  // true once stop() was called and no read is left.
  bool take_new(ServiceThread& self, RingReads& reads);
  void answer(ServiceThread& self, const RingReads::Round& round);
  void charge(ServiceThread& self, const RingReads::Round& round, std::uint64_t spent);
  // Takes no more reads, and leaves the queued ones to the pool.
  void close();
  // Returns false if the host program closed the event descriptor.
  bool wake();

  const SetAsideParts parts_;
  const MakeRing make_ring_;
  Descriptor event_;                 // Readable when the sleeping thread must look at its queue.
  std::atomic<bool> closed_{false};  // Takes no more reads. Set under the lock.
  std::mutex mutex_;                 // Guards the members below.
  RequestQueue queue_;
  bool started_ = false;
  bool asleep_ = false;  // The thread waits and found the queue empty.
  bool stopping_ = false;
};

}  // namespace k2k::server
