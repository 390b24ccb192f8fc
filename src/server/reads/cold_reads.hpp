#pragma once
// The thread that has a ring make cold reads (ring_reads.hpp), and the reads on their way to it.
//
//   take() ──▶ queue ── event descriptor ──▶ k2k/reads: submit, wait ──▶ answered
//     │                                          └─ no ring here, or not for this read
//     └─ not for a ring ─▶ thread pool ◀─────────┘
//
// So no thread sleeps in such a read, and the pool does not bound how many are in flight. The
// kernel copies on this thread, which its books and the cap count. The thread and its ring are made
// for the first read. Nothing wakes it while no read is in flight.
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

  // For a call that was tried and would wait. False: it does not suit a ring, there is no ring
  // here, stop() was called, the system gives no thread, or the host program closed the event
  // descriptor. A thread that may be kept is to make it.
  bool take(const Pending& call);

  // Ends the reads that the kernel has not got with ECANCELED, and the thread once it has no
  // others.
  void stop();

 private:
  void run(ServiceThread& self);
  void serve(ServiceThread& self, RingReads& reads);
  // Moves queued reads to the ring, or ends the reads of a launch that has ended early. True once
  // stop() was called and none is left.
  bool take_new(ServiceThread& self, RingReads& reads);
  void answer(ServiceThread& self, const RingReads::Round& round);
  void charge(ServiceThread& self, const RingReads::Round& round, std::uint64_t spent);
  // Takes no more reads, and leaves the queued ones to the pool.
  void close();
  // False: the host program closed the event descriptor.
  bool wake();

  const SetAsideParts parts_;
  const MakeRing make_ring_;
  Descriptor event_;                 // Readable once there is news for the sleeping thread.
  std::atomic<bool> closed_{false};  // Takes no more reads. Set under the lock.
  std::mutex mutex_;                 // Guards what follows.
  RequestQueue queue_;
  bool started_ = false;
  bool asleep_ = false;  // The thread waits and found the queue empty.
  bool stopping_ = false;
};

}  // namespace k2k::server
