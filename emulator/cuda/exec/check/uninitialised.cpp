#include "emulator/cuda/exec/check/uninitialised.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "emulator/cuda/exec/check/places.hpp"
#include "emulator/cuda/exec/check/reach.hpp"
#include "emulator/cuda/exec/ops/access.hpp"

namespace k2k::emulator::exec::check {

namespace {

class SharedReads final : public BlockWatch {
 public:
  SharedReads(UninitialisedReads& all, Block& block, std::unique_ptr<BlockWatch> then)
      : all_(all), block_(block), then_(std::move(then)) {
    block.shared_written.assign(block.grid->shared_bytes, 0);
    std::memset(block.shared_base, shared_pattern, block.shared_written.size());
  }

  void execute(Lane& lane, const Op& op) override {
    look(lane, op);
    then_->execute(lane, op);
  }
  void touches(Lane& lane, const Op& op, std::uint64_t address, std::uint32_t bytes,
               bool writes) override {
    if (block_.cluster->rank_of(address) >= 0) look(lane, op, address, bytes, !writes, writes);
    then_->touches(lane, op, address, bytes, writes);
  }
  void arrives(Lane& lane, std::uint32_t barrier) override { then_->arrives(lane, barrier); }
  void opens(std::uint32_t barrier) override { then_->opens(barrier); }
  void meets(std::uint32_t first, std::uint32_t mask) override { then_->meets(first, mask); }
  void arrives_at_cluster(Lane& lane, bool releases) override {
    then_->arrives_at_cluster(lane, releases);
  }
  void opens_cluster() override { then_->opens_cluster(); }
  void passes_cluster(Lane& lane, bool acquires) override { then_->passes_cluster(lane, acquires); }
  void exits(Lane& lane) override { then_->exits(lane); }
  void turns() override { then_->turns(); }

 private:
  void look(Lane& lane, const Op& op) {
    const Access& what = op.access;
    const Reached at = reached(lane, op);
    if (at.memory != Reached::Memory::shared) return;
    const bool is_plain_load = what.kind == Access::Kind::load && !what.strong;
    const bool is_load = what.kind == Access::Kind::load || what.kind == Access::Kind::wait;
    look(lane, op, at.address, std::uint64_t{what.bytes} * what.elements,
         is_plain_load || what.kind == Access::Kind::modify, !is_load);
  }
  // `reads`: what has to have been written. `address`: in shared memory of the cluster.
  void look(Lane& lane, const Op& op, std::uint64_t address, std::uint64_t bytes, bool reads,
            bool writes) {
    Block* const of =
        block_.cluster->members[static_cast<std::size_t>(block_.cluster->rank_of(address))].block;
    if (of == nullptr) return;
    std::vector<std::uint8_t>& written = of->shared_written;
    const std::uint64_t offset = address - of->shared_range().begin;
    const auto begin = written.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
    if (reads) {
      const auto missing = std::find(begin, end, 0);
      if (missing != end) {
        all_.report(lane, op, static_cast<std::uint64_t>(missing - written.begin()));
      }
    }
    if (writes) std::fill(begin, end, std::uint8_t{1});
  }

  UninitialisedReads& all_;
  Block& block_;
  const std::unique_ptr<BlockWatch> then_;
};

class GridSharedReads final : public GridWatch {
 public:
  GridSharedReads(UninitialisedReads& all, std::shared_ptr<GridWatch> then)
      : all_(all), then_(std::move(then)) {}
  std::unique_ptr<BlockWatch> watch(Block& block) override {
    return std::make_unique<SharedReads>(all_, block, then_->watch(block));
  }
  void end() override { then_->end(); }

 private:
  UninitialisedReads& all_;
  const std::shared_ptr<GridWatch> then_;
};

}  // namespace

std::shared_ptr<GridWatch> UninitialisedReads::begin(std::shared_ptr<GridWatch> then) {
  if (then == nullptr) then = std::make_shared<GridWatch>();
  return std::make_shared<GridSharedReads>(*this, std::move(then));
}

void UninitialisedReads::report(const Lane& lane, const Op& op, std::uint64_t offset) {
  const std::uint32_t place = place_of(lane, op);
  {
    const std::lock_guard lock(mutex_);
    if (!reported_.insert(place).second) return;
  }
  count_.fetch_add(1);
  const Grid& grid = *lane.block->grid;
  say_("uninitialised shared memory in kernel " + grid.entry->name + ": byte " +
       hexadecimal(offset) + " is read at " + text_of_place(place, grid.entry->name) + " by " +
       lane_text(lane) +
       ", and no lane of the block wrote it before; write it first, and let a barrier stand "
       "between");
}

}  // namespace k2k::emulator::exec::check
