#include "server/core/spot_calls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backend/demand_pages.hpp"
#include "router/door/files.hpp"
#include "services/functions/host_functions.hpp"

namespace k2k::server {

OnTheSpot::Outcome SpotCalls::serve(const ReadySlot& ready, std::vector<Pending>& batch) {
  return ready.number == calls::host_call_number ? call_function(ready, batch) : read(ready, batch);
}

OnTheSpot::Outcome SpotCalls::read(const ReadySlot& ready, std::vector<Pending>& batch) {
  Words words;
  std::memcpy(words.word, ready.slot.arguments, 4 * sizeof(words.word[0]));
  const auto descriptor = static_cast<int>(words.word[0]);
  router::Files& files = parts_->files;
  if (!files.reads_plainly(descriptor, words.word[2]) || backend::any_region()) {
    return Outcome::declined;
  }
  words.word[4] = words.word[5] = 0;
  auto* const memory = reinterpret_cast<void*>(words.word[1]);
  const auto offset = static_cast<std::int64_t>(words.word[3]);
  return make(ready, words, batch, [&] {
    const std::int64_t value = files.try_pread(descriptor, memory, words.word[2], offset);
    return SpotAnswer{value, value == -EAGAIN};  // The series of cached reads ended just now.
  });
}

OnTheSpot::Outcome SpotCalls::call_function(const ReadySlot& ready, std::vector<Pending>& batch) {
  Words words;
  std::memcpy(words.word, ready.slot.arguments, sizeof(words.word));
  const services::HostFunctions::InSlot function(parts_->system_calls.functions(), words.word,
                                                 self_->index);
  if (!function) return Outcome::declined;
  return make(ready, words, batch, [&] { return SpotAnswer{function.call(), false}; });
}

template <class Call>
OnTheSpot::Outcome SpotCalls::make(const ReadySlot& ready, const Words& words,
                                   std::vector<Pending>& batch, const Call& call) {
  begin_call(ready);
  const bool timed = !is_untimed(ready.attributes, ready.stamp);
  const std::uint64_t begun = timed ? cycles() : begun_;
  ThreadStats& stats = self_->stats;
  stats.counting.end();
  self_->call.begin();
  const SpotAnswer made = call();
  self_->call.end();
  if (!role_->word.still_held_by(self_->index)) [[unlikely]] {
    late_.emplace();
    copy(ready, words, late_->request);
    late_->made = made;
    late_->begun = begun;
    return Outcome::lost;
  }
  stats.counting.begin();
  ++calls_;
  if (made.waits) [[unlikely]] {
    copy(ready, words, batch.emplace_back().request);
    return Outcome::put_off;
  }
  if (timed) {
    answer_timed(ready, words, made.value, begun);
    return Outcome::answered;
  }
  const std::uint64_t done = measures_next_ ? cycles() : 0;
  const bool detached = (ready.attributes.flags & protocol::flag::detached) != 0;
  publish_answer(ready.slot, ready.number, detached, made.value, protocol::TransportError::none,
                 {begun, begun}, parts_->answers.errors());
  count_answer(stats, ready.row, ready.attributes, made.value);
  parts_->backend.resume(&ready.wave, 1);
  if (measures_next_) {
    self_->answer_cycles = cycles() - done;
    measures_next_ = false;
  }
  return Outcome::answered;
}

void SpotCalls::answer_timed(const ReadySlot& ready, const Words& words, std::int64_t value,
                             std::uint64_t begun) {
  services::Request request;
  copy(ready, words, request);
  const Moments moments{begun, cycles()};
  complete(parts_->answers.area(), request, value, protocol::TransportError::none, moments,
           self_->stats, parts_->answers.errors());
  parts_->backend.resume(&ready.wave, 1);
  measures_next_ = true;
}

void SpotCalls::copy(const ReadySlot& ready, const Words& words, services::Request& request) {
  std::memcpy(request.arguments, words.word, sizeof(words.word));
  ready.describe(request);
}

// A thread that takes the role over reads this state, and so does the watcher.
void SpotCalls::begin_walk() {
  walks_ = true;
  role_->walking = true;
  parts_->pool.begins_calls(role_->calls_begun, ThreadPool::Writers::one);
}

void SpotCalls::begin_call(const ReadySlot& ready) {
  if (!walks_) begin_walk();
  const std::size_t tenant = tenant_place(ready.attributes);
  if (calls_ == 0) {
    if (!ready.follows) begun_ = cycles();
  } else if (tenant != tenant_ || ready.row != row_) {
    end_run(cycles());
  }
  row_ = ready.row;
  tenant_ = tenant;
  protocol::move<protocol::SlotState::ready, protocol::SlotState::processing, protocol::Side::host>(
      ready.slot, ready.number);
  // While a read copies; a short function ends before the memory answers.
  if (ready.number != SYS_pread64) return;
  if (ready.left == 1) role_->top_half.prefetch_rings();
  if (ready.left == 0) role_->top_half.prefetch_slots();
}

void SpotCalls::end_run(std::uint64_t moment) {
  const std::uint64_t took = moment - begun_;
  // The time of the walk counts as service; the time of an answer was measured before.
  const std::uint64_t answering = std::min(took, calls_ * self_->answer_cycles);
  const bool of_reads = row_ >= 0 && calls::shapes[row_].number == SYS_pread64;
  if (of_reads && parts_->system_calls.have_waited(calls_, took)) parts_->files.note_waited();
  self_->stats.ledger.charge_request(took - answering, answering, call_place(row_), tenant_);
  charged_ += took;
  calls_ = 0;
  begun_ = moment;
}

std::uint64_t SpotCalls::settle(std::uint64_t& charged) {
  const std::uint64_t moment = cycles();
  end_run(moment);
  charged += charged_;
  charged_ = 0;
  return moment;
}

void SpotCalls::answer_late() {
  K2K_EXPECT(late_.has_value());
  parts_->system_calls.note_waited(late_->request);
  if (late_->made.waits) {
    Pending pending;
    pending.request = late_->request;
    parts_->waiting.run(*self_, pending);
    return;
  }
  parts_->answers.answer_late(self_->stats, late_->request, late_->made.value,
                              {late_->begun, cycles()});
}

}  // namespace k2k::server
