#include "io/engine/ring.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "io/file/raw.hpp"

namespace k2k::io {

namespace {

constexpr std::size_t reaped_at_once = 64;

Error refused(int code) {
  const char* mend = "the pool engine does without io_uring";
  if (code == EPERM)
    mend = "allow it: sysctl kernel.io_uring_disabled=0, or the container's filter";
  if (code == EINVAL) mend = "a ring of one thread needs Linux 6.1";
  if (code == ENOSYS) mend = "it needs Linux 5.6 and a container's filter that lets it pass";
  if (code == ENOMEM) mend = "raise the limit on locked memory: ulimit -l";
  if (code == EMFILE) mend = "raise the limit on open files: ulimit -n";
  return Error{code, fmt::format("io_uring: {}; {}", std::strerror(code), mend)};
}

int set_up(std::uint32_t entries, io_uring& ring, std::uint32_t flags) {
  io_uring_params params{};
  params.flags = flags;
  return io_uring_queue_init_params(entries, &ring, &params);
}

// An invalid entry does not prevent the submission of later entries; Linux 5.18.
int set_up_newest(std::uint32_t entries, io_uring& ring, std::uint32_t flags) {
  const int result = set_up(entries, ring, flags | IORING_SETUP_SUBMIT_ALL);
  return result == -EINVAL ? set_up(entries, ring, flags) : result;
}

// The thread's table of rings gives this one up. Linux before 6.3 refuses that: then the table
// keeps the ring until the thread ends.
void leave_table(const io_uring& ring) {
  constexpr unsigned by_place_in_table = 1u << 31;  // IORING_REGISTER_USE_REGISTERED_RING
  const auto place = static_cast<unsigned>(ring.enter_ring_fd);
  io_uring_rsrc_update left{};
  left.offset = place;
  static_cast<void>(
      io_uring_register(place, IORING_UNREGISTER_RING_FDS | by_place_in_table, &left, 1));
}

// Of transfers of files.
constexpr std::uint8_t transfer_operations[] = {IORING_OP_NOP, IORING_OP_READ, IORING_OP_WRITE};
// How a ring of one thread enters the thread's table and leaves it.
constexpr std::uint8_t table_changes[] = {IORING_REGISTER_RING_FDS, IORING_UNREGISTER_RING_FDS};

// Linux answers each other operation of the ring with EACCES from now on, also to code that got
// hold of it. Expects a ring with IORING_SETUP_R_DISABLED. Returns 0 or a negative errno.
int restrict_to_transfers(io_uring& ring, bool enters_table) {
  std::array<io_uring_restriction, std::size(transfer_operations) + std::size(table_changes)>
      rules{};
  unsigned count = 0;
  for (const std::uint8_t operation : transfer_operations) {
    rules[count].opcode = IORING_RESTRICTION_SQE_OP;
    rules[count++].sqe_op = operation;
  }
  if (enters_table) {
    for (const std::uint8_t change : table_changes) {
      rules[count].opcode = IORING_RESTRICTION_REGISTER_OP;
      rules[count++].register_op = change;
    }
  }
  const int result = io_uring_register_restrictions(&ring, rules.data(), count);
  return result < 0 ? result : io_uring_enable_rings(&ring);
}

bool asks_to_reap(int result) { return result == -EAGAIN || result == -EBUSY; }

Status check(std::uint32_t entries) {
  if (entries >= 1 && entries <= Ring::entries_max) return {};
  return Error{EINVAL,
               fmt::format("io_uring: {} entries: give 1 to {}", entries, Ring::entries_max)};
}

}  // namespace

Result<Ring> Ring::create(std::uint32_t entries) {
  if (Status status = check(entries); !status) return status.error();
  io_uring ring{};
  const int result = set_up_newest(entries, ring, 0);
  if (result < 0) return refused(-result);
  return usable(ring);
}

Result<Ring> Ring::create_for_transfers(std::uint32_t entries) {
  if (Status status = check(entries); !status) return status.error();
  io_uring ring{};
  int result = set_up_newest(entries, ring, IORING_SETUP_R_DISABLED);
  if (result == -EINVAL) return create(entries);  // Linux before 5.10 restricts no ring.
  if (result < 0) return refused(-result);
  result = restrict_to_transfers(ring, false);
  if (result == 0) return usable(ring);
  io_uring_queue_exit(&ring);
  return refused(-result);
}

Result<Ring> Ring::usable(io_uring& ring) {
  // RW_CUR_POS came with the plain read and write operations. Without NODROP completions get lost.
  constexpr unsigned needed = IORING_FEAT_RW_CUR_POS | IORING_FEAT_NODROP;
  if ((ring.features & needed) != needed) {
    io_uring_queue_exit(&ring);
    return refused(ENOSYS);
  }
  io_uring_ring_dontfork(&ring);
  const int number = moved_high(ring.ring_fd);
  if (number < 0) {  // The descriptor is closed, but the queues are still mapped.
    ring.ring_fd = ring.enter_ring_fd = -1;
    io_uring_queue_exit(&ring);
    return refused(-number);
  }
  ring.ring_fd = ring.enter_ring_fd = number;
  return Ring(ring);
}

Result<Ring> Ring::create_for_this_thread(std::uint32_t entries) {
  if (Status status = check(entries); !status) return status.error();
  io_uring ring{};
  int result = set_up(entries, ring,
                      IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
                          IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED);
  if (result < 0) return refused(-result);
  result = restrict_to_transfers(ring, true);
  if (result < 0) {
    io_uring_queue_exit(&ring);
    return refused(-result);
  }
  io_uring_ring_dontfork(&ring);
  const int entered = io_uring_register_ring_fd(&ring);
  raw_close(ring.ring_fd);
  ring.ring_fd = -1;
  if (entered == 1) return Ring(ring);
  io_uring_queue_exit(&ring);
  return refused(entered < 0 ? -entered : ENOMEM);
}

Ring::Ring(const io_uring& ring) : ring_(ring), creator_(::getpid()) {}

Ring::Ring(Ring&& other) noexcept
    : ring_(other.ring_), expected_(other.expected_), creator_(std::exchange(other.creator_, 0)) {}

Ring& Ring::operator=(Ring&& other) noexcept {
  std::swap(ring_, other.ring_);
  std::swap(expected_, other.expected_);
  std::swap(creator_, other.creator_);
  return *this;
}

Ring::~Ring() {
  if (creator_ == 0) return;
  if (inherited()) {
    raw_close(ring_.ring_fd);
  } else {
    set_own(ring_.ring_fd, false);  // First, as raw_close(): the number may be the program's next.
    if (ring_.ring_fd < 0) leave_table(ring_);
    io_uring_queue_exit(&ring_);
  }
}

bool Ring::inherited() const { return creator_ != ::getpid(); }

io_uring_sqe* Ring::next() {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) return nullptr;
  std::memset(entry, 0, sizeof(*entry));
  ++expected_;
  return entry;
}

std::size_t Ring::prepared() const { return io_uring_sq_ready(&ring_); }

std::size_t Ring::in_kernel() const { return expected_ - prepared(); }

int Ring::submit() {
  while (prepared() > 0) {
    const int result = io_uring_submit(&ring_);
    if (result < 0 && result != -EINTR) return result;
    if (result == 0) return -EAGAIN;
  }
  return 0;
}

int Ring::wait_for_one() {
  const bool is_of_thread = ring_.ring_fd < 0;
  return io_uring_enter(static_cast<unsigned>(ring_.enter_ring_fd), 0, 1,
                        IORING_ENTER_GETEVENTS | (is_of_thread ? IORING_ENTER_REGISTERED_RING : 0),
                        nullptr);
}

int Ring::wait(std::size_t least, Signals signals) {
  while (true) {
    // Completions beyond the queue's capacity stay in Linux and are never visible here.
    const std::size_t reachable = std::min({least, expected_, std::size_t{ring_.cq.ring_entries}});
    if (prepared() == 0 && io_uring_cq_ready(&ring_) >= reachable) return 0;
    int result = io_uring_submit_and_wait(&ring_, static_cast<unsigned>(reachable));
    if (asks_to_reap(result)) {
      if (in_kernel() == 0 || io_uring_cq_ready(&ring_) > 0) return result;
      // Waits without submitting: a completion makes room.
      result = wait_for_one();
    }
    if (result < 0 && (result != -EINTR || signals == Signals::end_the_wait)) return result;
  }
}

std::size_t Ring::reap(std::span<RingCompletion> into) {
  std::array<io_uring_cqe*, reaped_at_once> there{};
  std::size_t count = 0;
  while (count < into.size()) {
    const auto room = static_cast<unsigned>(std::min(there.size(), into.size() - count));
    const unsigned seen = io_uring_peek_batch_cqe(&ring_, there.data(), room);
    if (seen == 0) break;
    for (unsigned at = 0; at < seen; ++at) {
      const io_uring_cqe& each = *there[at];
      into[count++] = {each.user_data, each.res, each.flags};
      if ((each.flags & IORING_CQE_F_MORE) == 0) --expected_;
    }
    io_uring_cq_advance(&ring_, seen);
  }
  return count;
}

std::size_t Ring::take_back(std::span<std::uint64_t> tags) {
  const std::size_t count = prepared();
  const unsigned first = *ring_.sq.khead;
  for (std::size_t at = 0; at < std::min(count, tags.size()); ++at) {
    const unsigned place = (first + static_cast<unsigned>(at)) & ring_.sq.ring_mask;
    tags[at] = ring_.sq.sqes[place].user_data;
  }
  ring_.sq.sqe_head = ring_.sq.sqe_tail = first;
  io_uring_smp_store_release(ring_.sq.ktail, first);  // Linux reads it in the next enter.
  expected_ -= count;
  return count;
}

}  // namespace k2k::io
