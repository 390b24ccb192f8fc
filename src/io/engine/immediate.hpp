#pragma once
// The synchronous engine: submit() makes each transfer on the calling thread, in order.
//
// Threading: as every engine.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "io/engine/engine.hpp"
#include "io/engine/fixed_queue.hpp"

namespace k2k::io {

// Move(const Transfer&) makes a transfer and returns the result for its Completion.
template <class Move>
class Immediate final : public Engine {
 public:
  Immediate(const Capabilities& capabilities, Move move)
      : capabilities_(capabilities),
        move_(std::move(move)),
        completed_(capabilities.outstanding_max) {}

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::size_t outstanding() const override { return completed_.size(); }

  std::size_t submit(std::span<const Transfer> transfers) override {
    const std::size_t room = capabilities_.outstanding_max - completed_.size();
    const std::size_t count = std::min(transfers.size(), room);
    for (const Transfer& transfer : transfers.first(count)) {
      completed_.push({transfer.tag, move_(transfer)});
    }
    return count;
  }

  std::size_t poll(std::span<Completion> into, std::size_t /*least*/) override {
    const std::size_t count = std::min(into.size(), completed_.size());
    for (Completion& completion : into.first(count)) completion = completed_.pop();
    return count;
  }

 private:
  Capabilities capabilities_;
  Move move_;
  FixedQueue<Completion> completed_;
};

}  // namespace k2k::io
