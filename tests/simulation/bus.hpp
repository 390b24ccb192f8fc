#pragma once
// The memory shared by both sides, as a weakly ordered bus shows it.
//
//
//   device's image ── stores in flight ──▶ host's image        and the same the other way
//
// Each side has its own image. A store is in its side's image at once, and in the other image when
// it is delivered. Deliveries come in any order, except:
//  * stores of one side to one word keep their order, and
//  * a release store comes after all stores that its agent made, or learnt of at a barrier, before.
// Release and acquire guarantee no more over PCIe; a weaker bus would break the memory model. Plain
// stores of the code under test are not intercepted. Instead, when an agent next makes an ordered
// access, every difference from the last known image is a store of that agent.
//
// Threading: confined to one thread.

#include <cstddef>
#include <cstdint>

#include "protocol/area.hpp"
#include "tests/simulation/random.hpp"

namespace k2k::simulation {

inline constexpr std::uint32_t slots_max = 12;
inline constexpr std::uint32_t rings_max = 2;
inline constexpr std::uint32_t ring_entries_max = 16;
inline constexpr std::uint32_t blocks_max = 4;

// All host-visible words. Whole words of 8 bytes, so that images compare fast.
struct Image {
  protocol::Slot slots[slots_max];
  protocol::DoorbellEntry entries[rings_max][ring_entries_max];
  std::uint64_t consumed[rings_max];
  std::uint64_t closed;  // The protocol's word is the low half.
};

struct Store {
  std::uint16_t offset;  // In the image.
  std::uint8_t bytes;    // 4 or 8.
  bool release;
  std::uint32_t agent;
  std::uint32_t known_to;  // One bit per agent: the agent's next release store covers this store.
  std::uint64_t value;
};

// Chances: one in as many stores.
struct BusFaults {
  std::uint32_t lose_doorbell = 0;  // 0 = never.
  std::uint32_t hold_doorbell = 0;  // The delivery of a doorbell is put off.
};

class Bus {
 public:
  void begin(Random& random, const BusFaults& faults, std::uint32_t slots,
             std::uint32_t ring_entries);

  [[nodiscard]] Image& image(protocol::Side side) { return images_[index_of(side)]; }
  [[nodiscard]] bool contains(const void* word) const;
  [[nodiscard]] std::size_t offset_of(protocol::Side side, const void* word) const;

  // A plain store was found; its place still shows the old value.
  using OnPlain = void (*)(protocol::Side side, std::size_t offset, std::size_t bytes);
  // Turns plain stores of `agent` since the last call into stores in flight.
  void capture(protocol::Side side, std::uint32_t agent, OnPlain on_plain);
  // An ordered store. Expects that the agent's plain stores were captured.
  void release(protocol::Side side, std::uint32_t agent, std::size_t offset, std::size_t bytes,
               std::uint64_t value, bool as_plain);
  // Every agent of `agents` learns the stores that the others know.
  void meet(protocol::Side side, std::uint32_t agents);

  // Delivers one store, chosen at random among the deliverable ones. Returns false if none is left.
  void deliver_any();
  void flush(protocol::Side side);
  // Counts the stores that a side was given.
  [[nodiscard]] const std::uint32_t& arrivals(protocol::Side side) const {
    return arrivals_[index_of(side)];
  }
  [[nodiscard]] bool idle() const { return count_[0] + count_[1] == 0; }

  // A store to a word to which the other side also had a store in flight. Null if there was none.
  [[nodiscard]] const Store* torn() const { return torn_ ? &torn_store_ : nullptr; }
  [[nodiscard]] std::uint32_t lost_doorbells() const { return lost_doorbells_; }

 private:
  static constexpr std::uint32_t pending_max = 96;
  static std::uint32_t index_of(protocol::Side side) {
    return side == protocol::Side::device ? 0 : 1;
  }
  static bool overlap(const Store& one, const Store& other) {
    return one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
  }
  static bool waits_for(const Store& later, const Store& earlier) {
    return overlap(later, earlier) || (later.release && (earlier.known_to >> later.agent & 1) != 0);
  }
  static bool is_doorbell(const Store& store);
  void push(std::uint32_t side, const Store& store);
  void deliver(std::uint32_t side, std::uint32_t place, bool in_order);

  Image images_[2];
  Image known_[2];
  Store pending_[2][pending_max];
  std::uint32_t count_[2] = {0, 0};
  std::uint32_t slots_ = 0;
  std::uint32_t ring_entries_ = 0;
  Random* random_ = nullptr;
  BusFaults faults_;
  std::uint32_t arrivals_[2] = {0, 0};
  bool torn_ = false;
  Store torn_store_{};
  std::uint32_t lost_doorbells_ = 0;
};

}  // namespace k2k::simulation
