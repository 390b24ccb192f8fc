#pragma once
// The thread that waits for descriptors and for the ends of sleeps (descriptor_waits.hpp), and the
// queue of calls for it.
//
//   take() ─┬─▶ the set of the blocked thread ───▶ k2k/wait: epoll(7), try again ──▶ answered
//           └─▶ new waits, and the event ──────────┘      └─ ready, but would wait ──▶ thread pool
//
//   k2k/wait   awake ── nothing new ──▶ blocked ── report, event or time ──▶ awake
//   take()     new waits                the set; new waits and, once, the event, if the call is due
//                                       before the thread looks by itself, or cannot join the set
//
// The thread starts with the first call. An awake thread looks at the new waits before it blocks,
// so only a blocked one is woken, by an event descriptor; the end of a launch and stop() wake it,
// too.
//
// Threading: from anywhere; one lock. It also guards the waits and the set of a blocked thread.
// Lock order: this lock, then ServiceThreads.

#include <cstddef>
#include <mutex>
#include <utility>

#include "base/descriptor.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/set_aside_parts.hpp"
#include "server/waits/descriptor_waits.hpp"

namespace k2k::server {

class DescriptorWatch {
 public:
  explicit DescriptorWatch(const SetAsideParts& parts) : parts_(parts), new_waits_(parts.places) {}
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;

  // `event` is an eventfd(2). Before the first call.
  void wake_by(Descriptor event) { event_ = std::move(event); }

  // Returns false if the call waits for no descriptor and no moment, stop() was called, the system
  // gives no thread, or the thread must be woken and the host program closed the event descriptor.
  // Then a thread that may block must make the call.
  bool take(const Pending& call);

  // The launch of waiting calls may have ended early (Backend::abandoned). Calls that come
  // afterwards wake the thread themselves.
  void look_at_launch() { static_cast<void>(wake()); }
  // Ends all waits with ECANCELED, and the thread.
  void stop();

 private:
  // Of the thread; other threads use it while `blocked_` points to it.
  struct Waiting {
    DescriptorWaits waits;
    DescriptorWaits::Round round;
    [[nodiscard]] std::size_t calls() const {
      return round.answered.size() + round.for_pool.size() + waits.size();
    }
  };

  void run(ServiceThread& self);
  // Moves new waits into `waiting`, or answers them with ENOMEM. Returns true once stop() was
  // called.
  bool take_new(ServiceThread& self, Waiting& waiting);
  // Blocks, unless there are new waits, and tries the calls whose descriptor became ready.
  void wait(Waiting& waiting);
  // Adds a call by add(moment, round). Returns false if there is no memory.
  template <class Add>
  bool add_by(Waiting& waiting, const Add& add);
  // Adds a call to those of the blocked thread. Returns false if the thread is awake or must be
  // woken for this call. Expects the lock.
  bool join(const Pending& call);
  void answer(ServiceThread& self, const DescriptorWaits::Round& round);
  // Wakes the blocked thread, once. Expects the lock.
  bool call_thread();
  // Returns false if the host program closed the event descriptor.
  bool wake();

  const SetAsideParts parts_;
  Descriptor event_;  // Readable when the thread must look at its queue.
  std::mutex mutex_;  // Guards the members below.
  RequestQueue new_waits_;
  Waiting* blocked_ = nullptr;  // Null: the thread is awake.
  bool called_ = false;         // The blocked thread was woken.
  bool started_ = false;
  bool stopping_ = false;
};

}  // namespace k2k::server
