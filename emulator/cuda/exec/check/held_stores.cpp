#include "emulator/cuda/exec/check/held_stores.hpp"

#include <algorithm>

#include "emulator/cuda/exec/check/reach.hpp"
#include "emulator/cuda/exec/ops/access.hpp"

namespace k2k::emulator::exec::check {

namespace {

bool overlap(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b, std::uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

class HoldsStores final : public GridWatch {
 public:
  explicit HoldsStores(std::uint64_t seed) : seed_(seed) {}
  std::unique_ptr<BlockWatch> watch(Block& block) override {
    return std::make_unique<HeldStores>(block, seed_ * 1'000'003 + block.index);
  }

 private:
  const std::uint64_t seed_;
};

}  // namespace

std::shared_ptr<GridWatch> hold_stores(std::uint64_t seed) {
  return std::make_shared<HoldsStores>(seed);
}

HeldStores::HeldStores(Block& block, std::uint64_t seed)
    : block_(block), lanes_(block.lanes.size()), random_(seed) {}

void HeldStores::write(const Store& store) {
  auto* const to = reinterpret_cast<std::byte*>(store.address);
  const std::uint64_t low = store.value.low;
  switch (store.bytes) {
    case 1:
      return store_word(to, static_cast<std::uint8_t>(low), Order::release);
    case 2:
      return store_word(to, static_cast<std::uint16_t>(low), Order::release);
    case 4:
      return store_word(to, static_cast<std::uint32_t>(low), Order::release);
    case 16:
      return store_16(to, store.value);
    default:
      return store_word(to, low, Order::release);
  }
}

void HeldStores::commit(Held& held, std::size_t index) {
  const Store store = held.stores[index];
  // Recursion ends: what goes first stands before.
  for (std::size_t at = 0; at < index;) {
    const Store& other = held.stores[at];
    if (other.part < store.part ||
        overlap(other.address, other.bytes, store.address, store.bytes)) {
      const std::size_t before = held.stores.size();
      commit(held, at);
      index -= before - held.stores.size();
      at = 0;
    } else {
      ++at;
    }
  }
  write(store);
  held.stores.erase(held.stores.begin() + static_cast<std::ptrdiff_t>(index));
}

void HeldStores::commit_where(Held& held, auto&& condition) {
  for (std::size_t at = 0; at < held.stores.size();) {
    if (condition(held.stores[at])) {
      commit(held, at);
      at = 0;
    } else {
      ++at;
    }
  }
}

void HeldStores::commit_all(Held& held) {
  for (const Store& store : held.stores) write(store);
  held.stores.clear();
}

void HeldStores::execute(Lane& lane, const Op& op) {
  const Access& what = op.access;
  Held& held = lanes_[lane.rank];
  if (what.kind == Access::Kind::fence) {
    const bool is_strongest = op.flags != 0;  // fence.sc and membar, as ops/atomic.cpp says.
    if (is_strongest) commit_all(held);
    if (what.releases) ++held.part;
    op.run(lane, op);
    return;
  }
  const Reached at = reached(lane, op);
  if (at.memory == Reached::Memory::other) {
    op.run(lane, op);
    return;
  }
  if (what.kind == Access::Kind::store) {
    hold(held, lane, op, at.address);
    return;
  }
  if (what.kind != Access::Kind::load &&
      what.kind != Access::Kind::wait) {  // Its write comes behind what was stored before fences.
    if (what.releases) commit_all(held);
    commit_where(held, [&](const Store& store) { return store.part < held.part; });
  }
  const std::uint64_t bytes = std::uint64_t{what.bytes} * what.elements;
  commit_where(held, [&](const Store& store) {
    return overlap(store.address, store.bytes, at.address, bytes);
  });
  op.run(lane, op);
}

void HeldStores::hold(Held& held, const Lane& lane, const Op& op, std::uint64_t address) {
  const Access& what = op.access;
  if (what.releases) ++held.part;
  for (std::size_t index = 0; index < what.elements; ++index) {
    if (held.stores.size() >= held_stores_max) commit(held, 0);
    Store store;
    store.address = address + index * what.bytes;
    store.bytes = what.bytes;
    store.part = held.part;
    store.value = wide_bits(lane, op.more.empty() ? op.b : op.more[index], what.bytes);
    held.stores.push_back(store);
  }
}

void HeldStores::touches(Lane& lane, const Op&, std::uint64_t address, std::uint32_t bytes, bool) {
  commit_where(lanes_[lane.rank], [&](const Store& store) {
    return overlap(store.address, store.bytes, address, bytes);
  });
}

void HeldStores::arrives(Lane& lane, std::uint32_t) { commit_all(lanes_[lane.rank]); }
void HeldStores::arrives_at_cluster(Lane& lane, bool releases) {
  if (releases) commit_all(lanes_[lane.rank]);
}
void HeldStores::exits(Lane& lane) { commit_all(lanes_[lane.rank]); }

void HeldStores::meets(std::uint32_t first, std::uint32_t mask) {
  for (std::uint32_t at = 0; at < warp_lanes; ++at) {
    if ((mask >> at & 1) != 0) commit_all(lanes_[first + at]);
  }
}

void HeldStores::turns() {
  for (Held& held : lanes_) {
    if (held.stores.empty()) continue;
    for (Store& store : held.stores) ++store.age;
    commit_where(held, [&](const Store& store) { return store.age > held_turns_max; });
    const std::size_t count = random_() % (held.stores.size() + 1);
    for (std::size_t done = 0; done < count && !held.stores.empty(); ++done) {
      commit(held, random_() % held.stores.size());
    }
  }
}

}  // namespace k2k::emulator::exec::check
