#pragma once
// Finds the best way to reach a page by one direct transfer, for ascending pages: amortised O(1).
//
// A stage is a page up to which everything is transferred, at a cost. A transfer from stage i to
// page x costs C while x - i is below S, so the cheapest of the stages near x is the best; beyond S
// it costs C - S / BW + (x - i) / BW, so the best of the far stages has the least cost - i / BW,
// for any x. The near stages are in a queue with rising costs: once a cheaper stage was added
// behind a stage, that stage is never the best again, near or far. (The minimum of a sliding window
// by a monotone queue.)
//
// Positions are pages times Costs::direct_page. Threading: none; one owner.

#include <cstdint>
#include <limits>

#include "router/plan/model.hpp"

namespace k2k::router {

class Frontier {
 public:
  struct Stage {
    Ticks cost;
    Ticks position;
    std::uint32_t id;
  };
  struct Reach {
    Ticks cost;
    std::uint32_t id;  // Of the stage from which it is reached.
  };

  // `room` holds as many stages as are added.
  Frontier(const Costs& costs, Stage* room) : costs_(costs), first_(room), last_(room) {}

  // Expects a position above all added ones and not below the last reach().
  void add(Ticks cost, Ticks position, std::uint32_t id) {
    while (last_ != first_ && last_[-1].cost >= cost) --last_;
    *last_++ = {cost, position, id};
  }

  // Expects a position above those added, and a stage.
  [[nodiscard]] Reach reach(Ticks position) {
    for (; first_ != last_ && position - first_->position >= costs_.cutoff; ++first_) {
      const Ticks cost = first_->cost - first_->position;
      if (cost < far_.cost) far_ = {cost, first_->id};
    }
    Reach reached = {far_.cost + position - costs_.cutoff, far_.id};
    if (first_ != last_ && first_->cost <= reached.cost) reached = {first_->cost, first_->id};
    reached.cost += costs_.call;
    return reached;
  }

 private:
  Costs costs_;
  Stage* first_;
  Stage* last_;
  Reach far_ = {std::numeric_limits<Ticks>::max() / 2, 0};
};

}  // namespace k2k::router
