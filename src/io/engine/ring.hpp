#pragma once
// io_uring: prepared entries of any operation go to the kernel by one system call, completions come
// back without one.
//
//   Ring ring = Ring::create(64).value();
//   io_uring_prep_fsync(ring.next(), file, 0);   // and others; set user_data
//   ring.submit();
//   ring.wait(1);
//   ring.reap(into);
//
// Its descriptor has a high number where the limit allows and is close-on-exec. It is bound to no
// thread (no IORING_SETUP_SINGLE_ISSUER or DEFER_TASKRUN): a thread may go on where another
// stopped. If the submitting thread ends meanwhile, the kernel may answer -ECANCELED for what it
// had not begun.
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

  // EINVAL: `entries` is 0 or above entries_max. ENOSYS: Linux before 5.6, or a seccomp filter says
  // so. EPERM: io_uring is disabled here. ENOMEM, EMFILE, ENFILE: as io_uring_setup(2).
  static Result<Ring> create(std::uint32_t entries);

  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&& other) noexcept;
  // Does not wait: what is under way goes on, and may still write to its memory.
  ~Ring();

  // The next entry to fill, cleared (a NOP); null if as many as the queue holds are prepared:
  // submit. IOSQE_CQE_SKIP_SUCCESS is not for this class: every entry is waited for.
  [[nodiscard]] io_uring_sqe* next();

  // Gives all prepared entries to the kernel, by one system call if it takes them at once. Returns
  // 0, or a negative errno with the rest still prepared: -EAGAIN and -EBUSY ask for completions to
  // be reaped first, others are here to stay (-EBADF: somebody closed the descriptor).
  int submit();

  // Submits and waits until `least` completions are there, or as many as are expected or the queue
  // of completions holds. Signals do not end it. Returns as submit() does.
  int wait(std::size_t least);

  // Takes completions that are there, and returns how many.
  std::size_t reap(std::span<RingCompletion> into);

  // Takes back the prepared entry that was filled first among those that the kernel has not taken,
  // and all behind it. Returns their number and writes as many of their user_data as fit into
  // `tags`.
  std::size_t take_back(std::span<std::uint64_t> tags);

  [[nodiscard]] std::size_t prepared() const;   // Not yet taken by the kernel.
  [[nodiscard]] std::size_t in_kernel() const;  // Taken, and their last completion not yet reaped.
  [[nodiscard]] int descriptor() const { return ring_.ring_fd; }
  [[nodiscard]] bool inherited() const;  // By a child of fork().

 private:
  explicit Ring(const io_uring& ring);

  io_uring ring_{};
  std::size_t expected_ = 0;  // Entries prepared or taken whose last completion was not yet reaped.
  pid_t creator_ = 0;         // 0: moved from.
};

}  // namespace k2k::io
