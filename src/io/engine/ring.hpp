#pragma once
// io_uring: prepared entries of any operation go to Linux by one system call, completions come back
// without one.
//
//   Ring ring = Ring::create(64).value();
//   io_uring_prep_fsync(ring.next(), file, 0);   // and others; set user_data
//   ring.submit();
//   ring.wait(1);
//   ring.reap(into);
//
// Its descriptor has a high number if the limit allows, and is close-on-exec. It is bound to no
// thread: another thread may continue. If the submitting thread ends, Linux may answer -ECANCELED
// for entries that it had not begun.
//
// A ring of one thread (create_for_this_thread()) belongs to the thread that creates it. Linux
// completes its entries on that thread, while the thread submits or waits, and on no other
// (IORING_SETUP_SINGLE_ISSUER, DEFER_TASKRUN). It has no descriptor, which a program could close
// and a child of fork() would inherit: the thread's own table of 16 rings keeps it.
//
// Threading: one owner at a time. A child of fork() must not use its parent's ring, only destroy
// it: the queues are not mapped there.

#include <liburing.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace k2k::io {

struct RingCompletion {
  std::uint64_t tag = 0;  // The entry's user_data.
  std::int32_t result = 0;
  std::uint32_t flags = 0;  // IORING_CQE_F_...
};

class Ring {
 public:
  static constexpr std::uint32_t entries_max = 32768;

  // Errors: EINVAL, `entries` is 0 or above entries_max. ENOSYS: Linux before 5.6, or a seccomp
  // filter. EPERM: io_uring is disabled. ENOMEM, EMFILE, ENFILE: as io_uring_setup(2).
  static Result<Ring> create(std::uint32_t entries);
  // Reads and writes alone; to all other operations Linux answers EACCES (from Linux 5.10 on). The
  // errors of create().
  static Result<Ring> create_for_transfers(std::uint32_t entries);
  // Likewise for transfers. Errors: likewise. EINVAL, too: Linux before 6.1. EBUSY: the thread
  // has 16.
  static Result<Ring> create_for_this_thread(std::uint32_t entries);

  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&& other) noexcept;
  // Does not wait: transfers in flight continue, and may still write to their memory.
  ~Ring();

  // The next entry to fill, cleared (a NOP); null if the queue is full of prepared entries: submit
  // them first. IOSQE_CQE_SKIP_SUCCESS does not work with this class, because it waits for every
  // entry.
  [[nodiscard]] io_uring_sqe* next();

  // Submits all prepared entries to Linux, by one system call if Linux takes them at once. Returns
  // 0, or a negative errno with the rest still prepared: -EAGAIN and -EBUSY require that
  // completions are reaped first; other errors are permanent (-EBADF: the descriptor was closed).
  int submit();

  // Submits and waits until `least` completions are ready, or as many as are expected or the
  // completion queue holds. Returns as submit() does; -EINTR: a signal has ended the wait.
  enum class Signals : std::uint8_t { ignored, end_the_wait };
  int wait(std::size_t least, Signals signals = Signals::ignored);

  // Takes the ready completions, and returns their number.
  std::size_t reap(std::span<RingCompletion> into);

  // Takes back the prepared entries that Linux has not taken, in the order in which they were
  // filled. Returns their number and writes their user_data to `tags`, as far as it fits.
  std::size_t take_back(std::span<std::uint64_t> tags);

  [[nodiscard]] std::size_t prepared() const;   // Not yet taken by Linux.
  [[nodiscard]] std::size_t in_kernel() const;  // Taken by Linux; the last completion is not
                                                // reaped yet.
  // -1: a ring of one thread.
  [[nodiscard]] int descriptor() const { return ring_.ring_fd; }
  [[nodiscard]] bool inherited() const;  // By a child of fork().

 private:
  explicit Ring(const io_uring& ring);
  // Of a ring that Linux has set up. Errors: ENOSYS, Linux before 5.6; as of moved_high().
  static Result<Ring> usable(io_uring& ring);
  // Waits for a completion, and submits nothing.
  int wait_for_one();

  io_uring ring_{};
  std::size_t expected_ = 0;  // Entries prepared or taken with their last completion not reaped
                              // yet.
  pid_t creator_ = 0;         // 0: moved from.
};

}  // namespace k2k::io
