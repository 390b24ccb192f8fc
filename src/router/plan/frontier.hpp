#pragma once
// The best way to reach a page by one direct transfer, asked for ascending pages: amortised O(1).
//
// A stage is a page up to which everything is brought, at a cost. A transfer from stage i to page x
// costs C while x - i is below S, so of the stages near x the cheapest one is the best; beyond S it
// costs C - S / BW + (x - i) / BW, so of the far ones that with the least cost - i / BW, whatever
// x. The near ones stand in a queue in which costs rise: a stage behind which a cheaper one was
// added is never the best again, near or far. (The minimum of a sliding window by a monotone
// queue.)
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
    std::uint32_t id;  // Of the stage that it comes from.
  };

  // `room` holds as many stages as are added.
  Frontier(const Costs& costs, Stage* room) : costs_(costs), first_(room), last_(room) {}

  // Expects a position above those added and at least that asked for last.
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
