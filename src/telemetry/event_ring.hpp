#pragma once
// The last events of one thread, for traces: the kind, the slot and the time.
//
// Fixed size; overwrites its oldest. Off by default, and without memory until it is turned on; a
// recorded event costs four stores. Readers copy while the owner writes: an entry that changed
// meanwhile is left out.
//
// Threading: record() by the owning thread only; turn() and copy() from anywhere, one at a time.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace k2k::telemetry {

enum class EventKind : std::uint8_t {
  doorbell,
  accepted,
  started,
  completed,
  handed_off,
  parked,
  woken
};

struct Event {
  std::uint64_t cycles = 0;
  EventKind kind = EventKind::doorbell;
  std::uint8_t lane = 0;
  std::uint16_t number = 0;  // System-call number, if the event has one.
  std::uint32_t wave = 0;
  std::uint64_t argument = 0;  // The first argument of an accepted call: of a fault, the address.
};

class EventRing {
 public:
  static constexpr std::uint64_t capacity = std::uint64_t{1} << 16;

  // The first time that it is turned on takes its memory. Throws std::bad_alloc, and changes
  // nothing then.
  void turn(bool on) {
    if (on && entries_ == nullptr) entries_ = std::make_unique<Entry[]>(capacity);
    on_.store(on, std::memory_order_release);  // Pairs with on().
  }
  [[nodiscard]] bool on() const { return on_.load(std::memory_order_acquire); }

  // Does nothing while it is off.
  void record(const Event& event) {
    if (!on()) return;
    const std::uint64_t position = written_.load(std::memory_order_relaxed);
    Entry& entry = entries_[position % capacity];
    // Each store releases, so that a reader that sees one of them also sees `written_` as it was
    // before, and leaves the entry out.
    entry.cycles.store(event.cycles, std::memory_order_release);
    entry.rest.store(pack(event), std::memory_order_release);
    entry.argument.store(event.argument, std::memory_order_release);
    written_.store(position + 1, std::memory_order_release);  // Pairs with copy().
  }

  // Oldest first; at most `capacity` - 1 events.
  [[nodiscard]] std::vector<Event> copy() const {
    std::vector<Event> events;
    const std::uint64_t end = written_.load(std::memory_order_acquire);  // Pairs with record().
    std::uint64_t begin = end < capacity ? 0 : end - capacity;
    events.reserve(end - begin);
    for (std::uint64_t position = begin; position < end; ++position) {
      const Entry& entry = entries_[position % capacity];
      events.push_back(unpack(entry.cycles.load(std::memory_order_acquire),
                              entry.rest.load(std::memory_order_acquire),
                              entry.argument.load(std::memory_order_acquire)));
    }
    // Entries that the owner overwrote meanwhile are lost, including the entry that it may be
    // writing now.
    const std::uint64_t now_written = written_.load(std::memory_order_acquire);
    const std::uint64_t valid_from = now_written < capacity ? 0 : now_written - capacity + 1;
    if (valid_from > begin) {
      const std::uint64_t lost =
          valid_from - begin < events.size() ? valid_from - begin : events.size();
      events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(lost));
    }
    return events;
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> cycles{0};
    std::atomic<std::uint64_t> rest{0};
    std::atomic<std::uint64_t> argument{0};
  };
  static std::uint64_t pack(const Event& event) {
    return static_cast<std::uint64_t>(event.wave) << 32 |
           static_cast<std::uint64_t>(event.number) << 16 |
           static_cast<std::uint64_t>(event.lane) << 8 | static_cast<std::uint64_t>(event.kind);
  }
  static Event unpack(std::uint64_t cycles, std::uint64_t rest, std::uint64_t argument) {
    return {cycles,
            static_cast<EventKind>(rest & 0xff),
            static_cast<std::uint8_t>(rest >> 8),
            static_cast<std::uint16_t>(rest >> 16),
            static_cast<std::uint32_t>(rest >> 32),
            argument};
  }

  std::unique_ptr<Entry[]> entries_;  // Null until it was turned on.
  std::atomic<bool> on_{false};
  std::atomic<std::uint64_t> written_{0};
};

}  // namespace k2k::telemetry
