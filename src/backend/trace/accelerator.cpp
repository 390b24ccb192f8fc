#include "backend/trace/accelerator.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "device/submit.hpp"

namespace k2k::backend::trace {

namespace {

using protocol::Side;
using protocol::SlotState;

// The approximate time until the host takes a doorbell from a full ring.
constexpr std::int64_t retry_ns = 10'000;

constexpr auto later = [](const auto& one, const auto& other) {
  return one.when != other.when ? one.when > other.when : one.turn > other.turn;
};

}  // namespace

void Accelerator::begin(Source& source, const Requests& requests, std::uint32_t outstanding,
                        Tick longest, Tick now) {
  const std::size_t slots = std::size_t{area_.wave_count} * area_.wave_lanes;
  K2K_EXPECT(ended() && outstanding >= 1 && outstanding <= slots);
  source_ = &source;
  requests_ = &requests;
  counts_ = {};
  begin_ = now;
  until_ = longest > never - now ? never : now + longest;
  drawn_ = over_ = false;
  full_since_ = never;
  retry_at_ = 0;
  items_.assign(outstanding, {});
  item_at_.resize(slots);
  outstanding_.assign(area_.wave_count, 0);
  due_.clear();
  due_.reserve(outstanding);
  for (std::uint32_t item = 0; item < outstanding; ++item) {
    // Each a row of its own as long as there are rows: then an answer is found at once.
    items_[item].place = {item % area_.wave_count, item / area_.wave_count};
    take(item, now);
  }
}

bool Accelerator::draw() {
  if (!drawn_ && !over_) {
    drawn_ = source_->next(next_);
    over_ = !drawn_;
  }
  return drawn_;
}

void Accelerator::take(std::uint32_t index, Tick now) {
  Item& item = items_[index];
  item.free_since = now;
  if (!draw()) return;
  item.due = ticks(next_.after_ns) + (next_.since == Since::begin ? begin_ : now);
  drawn_ = false;
  if (item.due > until_) {
    over_ = true;
    return;
  }
  item.event = next_;
  due_.push_back({item.due, turns_++, index});
  std::push_heap(due_.begin(), due_.end(), later);
}

Tick Accelerator::next_due() const {
  return due_.empty() ? never : std::max(due_.front().when, retry_at_);
}

bool Accelerator::publish(Tick now) {
  bool rung = false;
  while (!due_.empty() && due_.front().when <= now) {
    if (protocol::load_acquire(area_.closed) != 0) {  // Pairs with the server's close().
      stop();
      break;
    }
    if (!request(due_.front().item)) {
      retry_at_ = now + ticks(retry_ns);
      break;
    }
    rung = true;
    std::pop_heap(due_.begin(), due_.end(), later);
    due_.pop_back();
  }
  return rung;
}

// It must not wait, so it checks before it takes a ticket: a ticket without a doorbell would be a
// hole.
bool Accelerator::has_room(const protocol::DoorbellRing& ring) {
  while (true) {
    const std::uint64_t tail = protocol::device_load(ring.tail);
    if (protocol::may_ring(ring, tail)) return true;
    if (!protocol::passed_over(ring, tail)) return false;
    protocol::take_ticket(ring);
  }
}

bool Accelerator::request(std::uint32_t index) {
  Item& item = items_[index];
  if (!has_room(area_.ring_of(item.place.wave))) {
    ++counts_.ring_full;
    return false;
  }
  if (!protocol::try_claim_one(area_, item.place, item.generation)) return false;
  const Tick requested_at = std::max(item.due, item.free_since);
  const TraceRequest request = requests_->make(item.event, index);
  item.right = request.right;
  const auto flags = static_cast<std::uint8_t>(protocol::flag::halted |
                                               (item.event.urgent ? protocol::flag::urgent : 0));
  const protocol::Attributes attributes = {protocol::Scope::work_item, flags, 0, item.event.tenant};
  device::publish(area_, item.place, attributes, request.number, request.arguments,
                  stamp_at(requested_at));
  item_at(item.place) = index;
  outstanding_[item.place.wave] |= std::uint64_t{1} << item.place.lane;
  // Where the claim went to a row of another ring, which is full, the host's rescan finds it.
  const protocol::DoorbellRing& ring = area_.ring_of(item.place.wave);
  if (has_room(ring)) {
    protocol::ring(ring, protocol::take_ticket(ring), item.place.wave,
                   std::uint64_t{1} << item.place.lane);
  }
  ++counts_.requests;
  if (++with_host_ == items_.size()) full_since_ = requested_at;
  return true;
}

bool Accelerator::answered(const std::uint32_t* rows, std::size_t count, Tick now) {
  const bool rung = publish(now);
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint32_t wave = rows[index];
    if (wave >= outstanding_.size()) continue;
    for (std::uint64_t left = outstanding_[wave]; left != 0; left &= left - 1) {
      const protocol::Place place{wave, lowest_bit(left)};
      // Pairs with the server's complete().
      if (observe(area_.slot(place.wave, place.lane)).state != SlotState::finished) continue;
      take_answer(item_at(place), now);
    }
  }
  return rung;
}

void Accelerator::take_answer(std::uint32_t index, Tick now) {
  Item& item = items_[index];
  protocol::Slot& slot = area_.slot(item.place.wave, item.place.lane);
  K2K_EXPECT(slot.generation == item.generation);
  const protocol::Control control = observe(slot);
  const auto value = static_cast<std::int64_t>(slot.arguments[0]);
  protocol::move<SlotState::finished, SlotState::free, Side::device>(slot);
  const std::uint64_t lane = std::uint64_t{1} << item.place.lane;
  protocol::unlock(area_, item.place.wave, lane);
  outstanding_[item.place.wave] &= ~lane;
  --with_host_;
  if (control.error != protocol::TransportError::none) {
    ++counts_.refused;
    stop();
    return;
  }
  ++counts_.answered;
  counts_.delays.add(telemetry::bucket_of(now > item.due ? now - item.due : 0), 1);
  if (value != item.right && counts_.errors++ == 0) {
    counts_.first_error_operation = item.event.operation;
    counts_.first_error = value;
  }
  end_stall(now);
  take(index, now);
}

// The stall began when the last work-item had published its request and the trace had a further
// request that was due.
void Accelerator::end_stall(Tick now) {
  if (full_since_ == never) return;
  if (draw()) {
    Tick since = full_since_;
    if (next_.since == Since::begin) since = std::max(since, begin_ + ticks(next_.after_ns));
    if (since <= until_ && now > since) counts_.stalled += now - since;
  }
  full_since_ = never;
}

void Accelerator::stop() {
  over_ = true;
  drawn_ = false;
  due_.clear();
}

void Accelerator::give_up() {
  stop();
  counts_.refused += with_host_;
  with_host_ = 0;
  std::fill(outstanding_.begin(), outstanding_.end(), 0);
}

}  // namespace k2k::backend::trace
