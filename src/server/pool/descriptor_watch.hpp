#pragma once
// The thread that waits for descriptors and for the ends of sleeps (descriptor_waits.hpp), and the
// queue of calls for it.
//
//   take() ──▶ new waits ── event descriptor ──▶ k2k/wait: epoll(7), try again ──▶ answered
//                                                  └─ ready, but would wait ──▶ thread pool
//
// The thread starts with the first call. It also waits for an event descriptor, by which take(),
// the end of a launch and stop() wake it.
//
// Threading: from anywhere; one lock. Lock order: this lock, then ServiceThreads.

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
  // gives no thread, or the host program closed the event descriptor. Then a thread that may block
  // must make the call.
  bool take(const Pending& call);

  // The launch of waiting calls may have ended early (Backend::abandoned).
  void look_at_launch() { static_cast<void>(wake()); }
  // Ends all waits with ECANCELED, and the thread.
  void stop();

 private:
  void run(ServiceThread& self);
  // Moves new waits into `waits`, or answers them with ENOMEM. Returns true once stop() was called.
  bool take_new(ServiceThread& self, DescriptorWaits& waits, DescriptorWaits::Round& round);
  void add(ServiceThread& self, DescriptorWaits& waits, DescriptorWaits::Round& round,
           const Pending& call);
  void answer(ServiceThread& self, const DescriptorWaits::Round& round);
  // Returns false if the host program closed the event descriptor.
  bool wake();

  const SetAsideParts parts_;
  Descriptor event_;  // Readable when the thread must look at its queue.
  std::mutex mutex_;  // Guards the members below.
  RequestQueue new_waits_;
  bool started_ = false;
  bool stopping_ = false;
};

}  // namespace k2k::server
