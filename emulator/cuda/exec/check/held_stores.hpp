#pragma once
// Stores that other lanes and the host see late, as on a GPU. x86-64 shows all stores in their
// order, so a missing release has no effect there.
//
// A lane's store waits in a list of its own. Each turn of the block commits some, in a random order
// that keeps what PTX promises:
//
//   the same bytes            in program order
//   st.release, fence         what stands before is committed before what is stored behind
//   fence.sc, membar,         all of the lane's stores are committed at once
//   atomics that release, barriers, the lane's end
//
// A lane's own read of bytes that wait commits them first. Loads are never late: load buffering is
// not shown. All lanes see a commit at the same moment, and each scope counts as the system.
//
// Threading: as exec/watch.hpp says.

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "emulator/cuda/exec/block.hpp"
#include "emulator/cuda/exec/ops/wide.hpp"
#include "emulator/cuda/exec/watch.hpp"

namespace k2k::emulator::exec::check {

inline constexpr std::size_t held_stores_max = 32;  // Of a lane; more commit the oldest.
inline constexpr std::uint32_t held_turns_max = 16;

// For one launch.
std::shared_ptr<GridWatch> hold_stores(std::uint64_t seed);

class HeldStores final : public BlockWatch {
 public:
  HeldStores(Block& block, std::uint64_t seed);

  void execute(Lane& lane, const Op& op) override;
  void touches(Lane& lane, const Op& op, std::uint64_t address, std::uint32_t bytes,
               bool writes) override;
  void arrives(Lane& lane, std::uint32_t barrier) override;
  void meets(std::uint32_t first, std::uint32_t mask) override;
  void arrives_at_cluster(Lane& lane, bool releases) override;
  void exits(Lane& lane) override;
  void turns() override;

 private:
  struct Store {
    std::uint64_t address = 0;
    Wide128 value;
    std::uint32_t bytes = 0;
    std::uint32_t part = 0;  // Fences and releases before it.
    std::uint32_t age = 0;
  };
  struct Held {
    std::deque<Store> stores;  // In program order.
    std::uint32_t part = 0;
  };

  void hold(Held& held, const Lane& lane, const Op& op, std::uint64_t address);
  // Commits one, and first what has to be seen before it.
  void commit(Held& held, std::size_t index);
  void commit_all(Held& held);
  void commit_where(Held& held, auto&& condition);
  static void write(const Store& store);

  Block& block_;
  std::vector<Held> lanes_;
  std::mt19937_64 random_;
};

}  // namespace k2k::emulator::exec::check
