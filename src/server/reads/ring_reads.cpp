#include "server/reads/ring_reads.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <thread>

#include "base/contract.hpp"

namespace k2k::server {

namespace {
// The time between two looks at completions if Linux refuses to wait for them.
constexpr std::chrono::milliseconds blind_wait{1};
}  // namespace

void RingReads::prepare(std::uint32_t place) {
  const ColdRead read = table_.rest(place);
  io_uring_sqe* const entry = ring_.next();
  K2K_EXPECT(entry != nullptr);
  io_uring_prep_read(entry, read.descriptor, read.memory, static_cast<unsigned>(read.bytes),
                     read.offset);
  entry->user_data = place;
}

void RingReads::prepare_event() {
  io_uring_sqe* const entry = ring_.next();
  K2K_EXPECT(entry != nullptr);
  io_uring_prep_read(entry, event_, &count_, sizeof(count_), 0);
  entry->user_data = event_tag;
  event_read_ = true;
}

bool RingReads::submit(Round& round) {
  if (!event_read_ && !event_lost_) prepare_event();
  if (ring_.submit() != 0) {
    std::array<std::uint64_t, entries> tags;
    const std::size_t count = ring_.take_back(tags);
    for (const std::uint64_t tag : std::span(tags).first(count)) {
      if (tag == event_tag) {
        event_read_ = false;
      } else {
        round.for_pool.push_back(table_.remove(static_cast<std::uint32_t>(tag)).call);
      }
    }
  }
  return event_read_ || !table_.empty();
}

void RingReads::wait(Round& round) {
  const int waited = ring_.wait(1, io::Ring::Signals::end_the_wait);
  if (waited != 0 && waited != -EINTR) std::this_thread::sleep_for(blind_wait);
  std::array<io::RingCompletion, 64> some;
  while (const std::size_t count = ring_.reap(some)) {
    for (const io::RingCompletion& each : std::span(some).first(count)) {
      if (each.tag == event_tag) {
        event_ended(each.result);
      } else {
        read_ended(static_cast<std::uint32_t>(each.tag), each.result, round);
      }
    }
  }
}

void RingReads::event_ended(std::int32_t result) {
  event_read_ = false;
  event_lost_ = result != sizeof(count_) && result != -EAGAIN && result != -EINTR;
}

void RingReads::read_ended(std::uint32_t place, std::int32_t result, Round& round) {
  const ReadTable::Step step = table_.completed(place, result);
  switch (step.next) {
    case ReadTable::Next::more:
      return prepare(place);
    case ReadTable::Next::answer:
      round.answered.push_back({table_.remove(place), step.value});
      return;
    case ReadTable::Next::pool:
      round.for_pool.push_back(table_.remove(place).call);
      return;
  }
}

}  // namespace k2k::server
