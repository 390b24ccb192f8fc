#include "tests/simulation/bus.hpp"

#include <cstring>

namespace k2k::simulation {

namespace {

constexpr std::size_t header_bytes = 16;  // The header of a slot: four words of 4 bytes.

// Plain stores to a slot's header are of 4 bytes, all others of 8.
std::size_t width_at(std::size_t offset) {
  const bool header =
      offset < sizeof(Image::slots) && offset % sizeof(protocol::Slot) < header_bytes;
  return header ? 4 : 8;
}

std::uint64_t read(const std::byte* from, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

}  // namespace

void Bus::begin(Random& random, const BusFaults& faults, std::uint32_t slots,
                std::uint32_t ring_entries) {
  random_ = &random;
  faults_ = faults;
  slots_ = slots;
  ring_entries_ = ring_entries;
  std::memset(images_, 0, sizeof(images_));
  std::memset(known_, 0, sizeof(known_));
  count_[0] = count_[1] = 0;
  torn_ = false;
  lost_doorbells_ = 0;
}

bool Bus::contains(const void* word) const {
  const auto* const at = static_cast<const std::byte*>(word);
  const auto* const begin = reinterpret_cast<const std::byte*>(images_);
  return at >= begin && at < begin + sizeof(images_);
}

std::size_t Bus::offset_of(protocol::Side side, const void* word) const {
  const auto* const begin = reinterpret_cast<const std::byte*>(&images_[index_of(side)]);
  return static_cast<std::size_t>(static_cast<const std::byte*>(word) - begin);
}

void Bus::capture(protocol::Side side, std::uint32_t agent, OnPlain on_plain) {
  const std::uint32_t which = index_of(side);
  auto* const mine = reinterpret_cast<std::byte*>(&images_[which]);
  auto* const known = reinterpret_cast<std::byte*>(&known_[which]);
  const auto compare = [&](std::size_t begin, std::size_t bytes) {
    if (std::memcmp(mine + begin, known + begin, bytes) == 0) return;
    for (std::size_t at = begin; at < begin + bytes; at += width_at(at)) {
      const std::size_t width = width_at(at);
      const std::uint64_t value = read(mine + at, width);
      if (value == read(known + at, width)) continue;
      on_plain(side, at, width);
      std::memcpy(known + at, &value, width);
      push(which, {static_cast<std::uint16_t>(at), static_cast<std::uint8_t>(width), false, agent,
                   std::uint32_t{1} << agent, value});
    }
  };
  compare(0, slots_ * sizeof(protocol::Slot));
  // The other words of a ring have no plain stores.
  for (std::uint32_t ring = 0; ring < rings_max; ++ring) {
    compare(offsetof(Image, entries) + ring * sizeof(Image::entries[0]),
            ring_entries_ * sizeof(protocol::DoorbellEntry));
  }
}

void Bus::release(protocol::Side side, std::uint32_t agent, std::size_t offset, std::size_t bytes,
                  std::uint64_t value, bool as_plain) {
  const std::uint32_t which = index_of(side);
  std::memcpy(reinterpret_cast<std::byte*>(&images_[which]) + offset, &value, bytes);
  std::memcpy(reinterpret_cast<std::byte*>(&known_[which]) + offset, &value, bytes);
  push(which, {static_cast<std::uint16_t>(offset), static_cast<std::uint8_t>(bytes), !as_plain,
               agent, std::uint32_t{1} << agent, value});
}

void Bus::meet(protocol::Side side, std::uint32_t agents) {
  const std::uint32_t which = index_of(side);
  for (std::uint32_t place = 0; place < count_[which]; ++place) {
    Store& store = pending_[which][place];
    if ((store.known_to & agents) != 0) store.known_to |= agents;
  }
}

void Bus::push(std::uint32_t side, const Store& store) {
  if (count_[side] == pending_max) deliver(side, 0, true);
  pending_[side][count_[side]++] = store;
}

bool Bus::is_doorbell(const Store& store) {
  constexpr std::size_t begin = offsetof(Image, entries);
  return store.offset >= begin && store.offset < begin + sizeof(Image::entries) &&
         (store.offset - begin) % sizeof(protocol::DoorbellEntry) ==
             offsetof(protocol::DoorbellEntry, head);
}

void Bus::deliver(std::uint32_t side, std::uint32_t place, bool in_order) {
  for (std::uint32_t earlier = 0; earlier < place;) {
    if (waits_for(pending_[side][place], pending_[side][earlier])) {
      place = earlier;
      earlier = 0;
    } else {
      ++earlier;
    }
  }
  const Store store = pending_[side][place];
  const bool doorbell = side == 0 && is_doorbell(store);
  if (doorbell && !in_order && faults_.hold_doorbell != 0 &&
      !random_->one_in(faults_.hold_doorbell)) {
    return;
  }
  --count_[side];
  std::memmove(&pending_[side][place], &pending_[side][place + 1],
               (count_[side] - place) * sizeof(Store));
  if (doorbell && faults_.lose_doorbell != 0 && random_->one_in(faults_.lose_doorbell)) {
    ++lost_doorbells_;
    return;
  }
  const std::uint32_t other = 1 - side;
  ++arrivals_[other];
  for (std::uint32_t back = 0; back < count_[other]; ++back) {
    if (!overlap(store, pending_[other][back])) continue;
    torn_ = true;
    torn_store_ = store;
  }
  std::memcpy(reinterpret_cast<std::byte*>(&images_[other]) + store.offset, &store.value,
              store.bytes);
  std::memcpy(reinterpret_cast<std::byte*>(&known_[other]) + store.offset, &store.value,
              store.bytes);
}

void Bus::deliver_any() {
  const std::uint32_t all = count_[0] + count_[1];
  if (all == 0) return;
  const std::uint32_t chosen = random_->below(all);
  if (chosen < count_[0]) {
    deliver(0, chosen, false);
  } else {
    deliver(1, chosen - count_[0], false);
  }
}

void Bus::flush(protocol::Side side) {
  const std::uint32_t which = index_of(side);
  while (count_[which] != 0) deliver(which, 0, true);
}

}  // namespace k2k::simulation
