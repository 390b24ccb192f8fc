// The engine of io_uring: one system call submits a batch.
//
//   free ──submit──▶ prepared ──Ring::submit──▶ in Linux ──reap──▶ polled: free
//                      ▲  │ the ring is unusable           │ EINTR, ECANCELED
//                      │  └──▶ refused ──▶ polled: free    │
//                      └───────────────────────────────────┘
//
// A file without positions (a pipe) is read without a position, where pread(2) answers ESPIPE.

#include <sys/types.h>

#include <array>
#include <ctime>
#include <utility>
#include <vector>

#include "io/engine/blocking.hpp"
#include "io/engine/engine.hpp"
#include "io/engine/fixed_queue.hpp"
#include "io/engine/ring.hpp"

namespace k2k::io {

namespace {

constexpr std::uint32_t retries_max = 16;
constexpr long blind_wait_ns = 100'000;
constexpr std::size_t polled_at_once = 64;

class Uring final : public Engine {
 public:
  Uring(std::uint32_t outstanding, Ring ring)
      : capabilities_{"uring", true, outstanding},
        ring_(std::move(ring)),
        slots_(outstanding),
        refused_(outstanding),
        tags_(outstanding) {
    free_.reserve(outstanding);
    for (std::uint32_t slot = outstanding; slot > 0; --slot) free_.push_back(slot - 1);
  }

  ~Uring() override {
    if (ring_.inherited()) return;  // They are the parent's.
    std::array<Completion, polled_at_once> ignored;
    while (outstanding_ > 0) poll(ignored, ignored.size());
  }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::size_t outstanding() const override { return outstanding_; }

  std::size_t submit(std::span<const Transfer> transfers) override {
    const std::size_t room = capabilities_.outstanding_max - outstanding_;
    const std::size_t count = std::min(transfers.size(), room);
    outstanding_ += count;
    for (const Transfer& transfer : transfers.first(count)) {
      if (!offset_fits(transfer)) {
        refused_.push({transfer.tag, -EINVAL});
        continue;
      }
      slots_[free_.back()] = {transfer, 0};
      prepare(free_.back());
      free_.pop_back();
    }
    judge(ring_.submit());
    return count;
  }

  std::size_t poll(std::span<Completion> into, std::size_t least) override {
    const std::size_t reachable = std::min({least, into.size(), outstanding_});
    std::size_t count = 0;
    while (true) {
      count += take_refused(into.subspan(count));
      count += reap(into.subspan(count));
      if (count >= reachable) break;
      judge(ring_.wait(reachable - count));
    }
    if (ring_.prepared() > 0) judge(ring_.submit());
    outstanding_ -= count;
    return count;
  }

 private:
  struct Slot {
    Transfer transfer;
    std::uint32_t retries = 0;
  };

  // There is room: the ring has at least as many entries as there are slots.
  void prepare(std::uint32_t slot) {
    const Transfer& transfer = slots_[slot].transfer;
    io_uring_sqe* const entry = ring_.next();
    K2K_EXPECT(entry != nullptr);
    const auto bytes = static_cast<unsigned>(std::min(transfer.bytes, transfer_bytes_max));
    if (transfer.direction == Direction::read) {
      io_uring_prep_read(entry, transfer.file, transfer.memory, bytes, transfer.offset);
    } else {
      io_uring_prep_write(entry, transfer.file, transfer.memory, bytes, transfer.offset);
    }
    entry->user_data = slot;
  }

  std::size_t reap(std::span<Completion> into) {
    std::array<RingCompletion, polled_at_once> seen;
    std::size_t count = 0;
    while (count < into.size()) {
      const std::size_t room = std::min(seen.size(), into.size() - count);
      const std::size_t reaped = ring_.reap(std::span(seen).first(room));
      if (reaped == 0) break;
      for (const RingCompletion& each : std::span(seen).first(reaped)) {
        const auto slot = static_cast<std::uint32_t>(each.tag);
        if (try_again(slot, each.result)) continue;
        into[count++] = {slots_[slot].transfer.tag, each.result};
        free_.push_back(slot);
      }
    }
    return count;
  }

  // ECANCELED: the thread that submitted it has ended; no cancellation was requested.
  bool try_again(std::uint32_t slot, std::int32_t result) {
    if (result != -EINTR && result != -ECANCELED) return false;
    if (++slots_[slot].retries > retries_max) return false;
    prepare(slot);
    return true;
  }

  std::size_t take_refused(std::span<Completion> into) {
    const std::size_t count = std::min(into.size(), refused_.size());
    for (Completion& completion : into.first(count)) completion = refused_.pop();
    return count;
  }

  // The result of a submission that was incomplete. While transfers are in Linux, a lack of room
  // ends as soon as one of them is polled.
  void judge(int result) {
    if (result == 0) return;
    const bool busy = result == -EAGAIN || result == -EBUSY;
    if (busy && ring_.in_kernel() > 0) return;
    const std::size_t count = ring_.take_back(tags_);
    for (const std::uint64_t slot : std::span(tags_).first(count)) {
      refused_.push({slots_[slot].transfer.tag, result});
      free_.push_back(static_cast<std::uint32_t>(slot));
    }
    // The ring's descriptor was closed: transfers in flight still complete in the mapped queue.
    if (count == 0) {
      const timespec pause{0, blind_wait_ns};
      ::nanosleep(&pause, nullptr);
    }
  }

  Capabilities capabilities_;
  Ring ring_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  FixedQueue<Completion> refused_;
  std::vector<std::uint64_t> tags_;
  std::size_t outstanding_ = 0;
};

Result<std::unique_ptr<Engine>> make_over(std::uint32_t outstanding,
                                          Result<Ring> (*create)(std::uint32_t entries)) {
  if (Status status = check_outstanding(outstanding); !status) return status.error();
  Result<Ring> ring = create(outstanding);
  if (!ring) return ring.error();
  return std::unique_ptr<Engine>(std::make_unique<Uring>(outstanding, std::move(ring).value()));
}

}  // namespace

Result<std::unique_ptr<Engine>> make_uring(std::uint32_t outstanding) {
  return make_over(outstanding, Ring::create_for_transfers);
}

Result<std::unique_ptr<Engine>> make_unrestricted_uring(std::uint32_t outstanding) {
  return make_over(outstanding, Ring::create);
}

}  // namespace k2k::io
