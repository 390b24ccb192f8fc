#include "server/core/spot_reads.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backend/demand_pages.hpp"
#include "router/door/files.hpp"

namespace k2k::server {

namespace {

void copy(const ReadySlot& ready, const std::uint64_t (&words)[4], services::Request& request) {
  request = {};
  std::memcpy(request.arguments, words, sizeof(words));
  ready.describe(request);
}

}  // namespace

OnTheSpot::Outcome SpotReads::serve(const ReadySlot& ready, services::Request& request) {
  std::uint64_t words[4];  // Once: a slot stays the device's to scribble on.
  std::memcpy(words, ready.slot.arguments, sizeof(words));
  const auto descriptor = static_cast<int>(words[0]);
  router::Files& files = parts_->files;
  if (!files.reads_plainly(descriptor, words[2]) || backend::any_region()) {
    return Outcome::declined;
  }
  if (!walks_) begin_walk();
  const std::size_t tenant = tenant_place(ready.attributes);
  if (reads_ == 0) {
    if (!ready.follows) begun_ = cycles();
    row_ = ready.row;
    tenant_ = tenant;
  } else if (tenant != tenant_) {
    end_run(cycles());
    tenant_ = tenant;
  }
  protocol::move<protocol::SlotState::ready, protocol::SlotState::processing, protocol::Side::host>(
      ready.slot, ready.number);
  if (ready.left == 1) role_->top_half.prefetch_rings();
  if (ready.left == 0) role_->top_half.prefetch_slots();

  auto* const memory = reinterpret_cast<void*>(words[1]);
  const auto offset = static_cast<std::int64_t>(words[3]);
  const bool timed = !is_untimed(ready.attributes, ready.stamp);
  const std::uint64_t begun = timed ? cycles() : begun_;
  ThreadStats& stats = self_->stats;
  stats.booking.end();
  self_->call.begin();
  const std::int64_t value = files.try_pread(descriptor, memory, words[2], offset);
  self_->call.end();
  if (!role_->word.still_held_by(self_->index)) [[unlikely]] {
    late_.emplace();
    copy(ready, words, late_->request);
    late_->value = value;
    late_->begun = begun;
    return Outcome::lost;
  }
  stats.booking.begin();
  ++reads_;
  if (value == -EAGAIN) [[unlikely]] {  // The streak ended just now.
    copy(ready, words, request);
    return Outcome::put_off;
  }
  if (timed) {
    copy(ready, words, request);
    const Moments moments{begun, cycles()};
    complete(parts_->answers.area(), request, value, protocol::TransportError::none, moments, stats,
             parts_->answers.errors());
    parts_->backend.resume(&ready.wave, 1);
    measures_next_ = true;
    return Outcome::answered;
  }
  const std::uint64_t done = measures_next_ ? cycles() : 0;
  const bool detached = (ready.attributes.flags & protocol::flag::detached) != 0;
  publish_answer(ready.slot, ready.number, detached, value, protocol::TransportError::none,
                 {begun, begun}, parts_->answers.errors());
  book_answer(stats, ready.row, ready.attributes, value);
  parts_->backend.resume(&ready.wave, 1);
  if (measures_next_) {
    self_->answer_cycles = cycles() - done;
    measures_next_ = false;
  }
  return Outcome::answered;
}

// The taker of the role has to know, and the watcher.
void SpotReads::begin_walk() {
  walks_ = true;
  role_->walking = true;
  parts_->pool.begins_calls(role_->calls_begun);
}

void SpotReads::end_run(std::uint64_t moment) {
  const std::uint64_t took = moment - begun_;
  // The time of the walk counts as service; the time of an answer was measured before.
  const std::uint64_t answering = std::min(took, reads_ * self_->answer_cycles);
  if (parts_->system_calls.have_waited(reads_, took)) parts_->files.note_waited();
  self_->stats.ledger.charge_request(took - answering, answering, call_place(row_), tenant_);
  charged_ += took;
  reads_ = 0;
  begun_ = moment;
}

std::uint64_t SpotReads::settle(std::uint64_t& charged) {
  const std::uint64_t moment = cycles();
  end_run(moment);
  charged += charged_;
  charged_ = 0;
  return moment;
}

void SpotReads::answer_late() {
  parts_->files.note_waited();
  K2K_EXPECT(late_.has_value());
  if (late_->value == -EAGAIN) {
    Pending pending;
    pending.request = late_->request;
    parts_->waiting.run(*self_, pending);
    return;
  }
  parts_->answers.answer_late(self_->stats, late_->request, late_->value, {late_->begun, cycles()});
}

}  // namespace k2k::server
