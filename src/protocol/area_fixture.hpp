#pragma once
// For tests: a syscall area in plain memory, without a device. The test acts as either side.
//
// Threading: the memory outlives every thread that uses the view; nothing else is kept.

#include <memory>
#include <vector>

#include "protocol/area.hpp"
#include "protocol/claim.hpp"

namespace k2k::protocol {

struct AreaShape {
  std::uint32_t waves = 4;
  std::uint32_t lanes = 32;
  std::uint32_t rings = 1;
  std::uint32_t ring_entries = 64;
  std::uint32_t blocks = 4;
};

class PlainArea {
 public:
  explicit PlainArea(const AreaShape& shape = {})
      : slots_(std::make_unique<Slot[]>(std::size_t{shape.waves} * shape.lanes)),
        locks_(shape.waves),
        arena_(std::size_t{shape.blocks} * arena_block_bytes),
        lent_(shape.blocks) {
    view_.slots = slots_.get();
    view_.locks = locks_.data();
    view_.wave_count = shape.waves;
    view_.wave_lanes = shape.lanes;
    view_.ring_count = shape.rings;
    view_.arena = arena_.data();
    view_.lent = lent_.data();
    view_.arena_blocks = shape.blocks;
    view_.tickets = tickets_;
    view_.closed = &closed_;
    for (std::uint32_t ring = 0; ring < shape.rings; ++ring) {
      entries_.push_back(std::make_unique<DoorbellEntry[]>(shape.ring_entries));
      words_.push_back(std::make_unique<std::uint64_t[]>(3));
      view_.rings[ring] = {entries_[ring].get(), &words_[ring][0], &words_[ring][1],
                           &words_[ring][2], shape.ring_entries};
    }
  }
  PlainArea(const PlainArea&) = delete;
  PlainArea& operator=(const PlainArea&) = delete;

  [[nodiscard]] const AreaView& view() const { return view_; }
  [[nodiscard]] const AreaView* operator->() const { return &view_; }

  // Claims, fills and publishes one slot, without ringing. Expects it to be free.
  Slot& publish(std::uint32_t wave, std::uint32_t lane, std::uint16_t number,
                std::uint8_t flags = 0) {
    expect_claimed(try_claim(view_, wave, std::uint64_t{1} << lane));
    Slot& slot = view_.slot(wave, lane);
    slot.attributes = pack(Attributes{Scope::work_item, flags, 0, 0});
    move<SlotState::populating, SlotState::ready, Side::device>(slot, number);
    return slot;
  }
  // What the device sees of a slot, and its answer.
  [[nodiscard]] Control control(std::uint32_t wave, std::uint32_t lane) const {
    return observe(view_.slot(wave, lane));
  }
  [[nodiscard]] std::int64_t answer(std::uint32_t wave, std::uint32_t lane) const {
    return static_cast<std::int64_t>(view_.slot(wave, lane).arguments[answer_word::value]);
  }
  void ring(std::uint32_t wave, std::uint64_t lanes) {
    const DoorbellRing& ring = view_.ring_of(wave);
    protocol::ring(ring, take_ticket(ring), wave, lanes);
  }

 private:
  static void expect_claimed(bool claimed) {
    if (!claimed) __builtin_trap();  // The test requested an occupied slot.
  }

  AreaView view_;
  std::unique_ptr<Slot[]> slots_;
  std::vector<std::uint64_t> locks_;
  std::vector<std::byte> arena_;
  std::vector<std::uint64_t> lent_;
  std::uint64_t tickets_[ticket_words] = {};
  std::vector<std::unique_ptr<DoorbellEntry[]>> entries_;
  std::vector<std::unique_ptr<std::uint64_t[]>> words_;
  std::uint32_t closed_ = 0;
};

}  // namespace k2k::protocol
