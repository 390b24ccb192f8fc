#pragma once
// Queues of accepted requests over one table with a place for each slot, so that no queue ever
// allocates memory. A request occupies its slot until it is answered, and is in one queue at a
// time. Only a device that writes to its slots at the wrong time can have a second request accepted
// for a waiting slot: the queue drops it, and the slot gets the answer of the first.
//
// Threading: each queue is guarded by a lock of its owner. The table has none: queues of one table
// may have different locks. take_to_front() expects both.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/contract.hpp"
#include "server/poll/bottom_half.hpp"

namespace k2k::server {

class RequestPlaces {
 public:
  struct Place {
    Pending call;
    Place* before;
    Place* after;
  };
  static_assert(std::is_trivially_copyable_v<Place>);

  explicit RequestPlaces(const protocol::AreaView& area)
      : lanes_(area.wave_lanes),
        // Only waiting slots touch its pages.
        memory_(std::make_unique_for_overwrite<std::byte[]>(slots_of(area) * sizeof(Place))),
        taken_(std::make_unique<std::atomic<bool>[]>(slots_of(area))) {}

  // Returns nullptr if another request of its slot waits.
  Place* take(const Pending& call) {
    const std::size_t slot = std::size_t{call.request.wave} * lanes_ + call.request.lane;
    if (taken_[slot].exchange(true, std::memory_order_acquire)) {  // See give_back().
      note_dropped();
      return nullptr;
    }
    return new (&at(slot)) Place{call, nullptr, nullptr};
  }
  // Requests that were accepted although another one of their slot waits: nobody answers them.
  void note_dropped() { dropped_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  Pending give_back(const Place& place) {
    const Pending call = place.call;
    // Pairs with take(): another queue may write to the place from now on.
    taken_[static_cast<std::size_t>(&place - &at(0))].store(false, std::memory_order_release);
    return call;
  }

 private:
  static std::size_t slots_of(const protocol::AreaView& area) {
    return std::size_t{area.wave_count} * area.wave_lanes;
  }
  Place& at(std::size_t slot) { return reinterpret_cast<Place*>(memory_.get())[slot]; }

  const std::uint32_t lanes_;
  const std::unique_ptr<std::byte[]> memory_;
  const std::unique_ptr<std::atomic<bool>[]> taken_;
  std::atomic<std::uint64_t> dropped_{0};
};

class RequestQueue {
 public:
  explicit RequestQueue(RequestPlaces& places) : places_(&places) {}

  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return size_; }

  void push_back(const Pending& call) {
    RequestPlaces::Place* const place = places_->take(call);
    if (place == nullptr) return;
    place->before = last_;
    (last_ == nullptr ? first_ : last_->after) = place;
    last_ = place;
    ++size_;
  }
  Pending pop_front() { return remove(first_); }
  Pending pop_back() { return remove(last_); }

  // Moves all requests of `other` before the requests of this queue.
  void take_to_front(RequestQueue& other) {
    if (other.empty()) return;
    other.last_->after = first_;
    (first_ == nullptr ? last_ : first_->before) = other.last_;
    first_ = std::exchange(other.first_, nullptr);
    other.last_ = nullptr;
    size_ += std::exchange(other.size_, 0);
  }

  // Moves the requests that `wanted` names to the end of `taken`.
  template <class Wanted>
  void take_if(const Wanted& wanted, std::vector<Pending>& taken) {
    for (RequestPlaces::Place* at = first_; at != nullptr;) {
      RequestPlaces::Place* const next = at->after;
      if (wanted(at->call)) taken.push_back(remove(at));
      at = next;
    }
  }

  template <class Look>
  void for_each(const Look& look) const {
    for (const RequestPlaces::Place* at = first_; at != nullptr; at = at->after) look(at->call);
  }

 private:
  Pending remove(RequestPlaces::Place* place) {
    K2K_EXPECT(place != nullptr);
    (place->before == nullptr ? first_ : place->before->after) = place->after;
    (place->after == nullptr ? last_ : place->after->before) = place->before;
    --size_;
    return places_->give_back(*place);
  }

  RequestPlaces* places_;
  RequestPlaces::Place* first_ = nullptr;
  RequestPlaces::Place* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace k2k::server
