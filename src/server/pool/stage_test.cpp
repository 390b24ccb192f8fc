// Goal: the stage makes the moves of its table and no others, and no order of events leaves a
// bundle without a thread that will take it. Method: every event from every phase; then every
// sequence of events of its users, to a depth at which all phases repeat.

#include "server/pool/stage.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace k2k::server {
namespace {

using Phase = StagePhase;
using Event = StageEvent;
using Wake = StageWake;

// A stage in the given phase.
Stage in(Phase phase) {
  static const std::map<Phase, std::vector<Event>> ways = {
      {Phase::off, {}},
      {Phase::vacant, {Event::open}},
      {Phase::working, {Event::open, Event::take}},
      {Phase::resting, {Event::open, Event::take, Event::idle}},
      {Phase::rung, {Event::open, Event::take, Event::idle, Event::ring}},
      {Phase::leaving, {Event::open, Event::take, Event::close}}};
  Stage stage;
  for (const Event event : ways.at(phase)) stage.move(event);
  EXPECT_EQ(stage.phase(), phase);
  return stage;
}

const StageMove* entry(Phase from, Event event) {
  for (const StageMove& one : stage_moves) {
    if (one.from == from && one.event == event) return &one;
  }
  return nullptr;
}

TEST(Stage, makes_each_move_of_its_table_and_no_other) {
  std::set<std::pair<Phase, Event>> named;
  for (const StageMove& one : stage_moves) {
    EXPECT_TRUE(named.emplace(one.from, one.event).second) << "a move is in the table twice";
  }
  int forbidden = 0;
  for (int phase = 0; phase < stage_phases; ++phase) {
    for (int event = 0; event < stage_events; ++event) {
      const auto from = static_cast<Phase>(phase);
      const auto what = static_cast<Event>(event);
      Stage stage = in(from);
      if (const StageMove* move = entry(from, what)) {
        EXPECT_EQ(stage.move(what), move->wake);
        EXPECT_EQ(stage.phase(), move->to);
      } else {
        ++forbidden;
        EXPECT_DEATH(stage.move(what), "broken contract") << phase << " " << event;
      }
    }
  }
  EXPECT_EQ(forbidden, stage_phases * stage_events - static_cast<int>(named.size()));
  EXPECT_EQ(forbidden, 19);
}

// The users of a stage, and what each knows. A bundle is never left to a thread that sleeps.
struct World {
  Stage stage;
  int bundles = 0;
  bool pool_told = false;   // A thread of the pool will look.
  bool stage_told = false;  // The thread of the stage was notified and has not run since.

  void ring() {
    ++bundles;
    learn(stage.move(Event::ring));
  }
  void learn(Wake wake) {
    pool_told = pool_told || wake == Wake::pool;
    stage_told = stage_told || wake == Wake::stage;
  }
  [[nodiscard]] bool sound() const {
    switch (stage.phase()) {
      case Phase::off:
      case Phase::vacant:
        return bundles == 0 || pool_told;
      case Phase::working:
        return true;
      case Phase::resting:
        return bundles == 0;
      case Phase::rung:
        return stage_told;
      case Phase::leaving:
        return true;
    }
    return false;
  }
};

int visited = 0;
std::set<Phase> phases_seen;

void explore(const World& world, int depth) {
  ++visited;
  phases_seen.insert(world.stage.phase());
  ASSERT_TRUE(world.sound()) << "phase " << static_cast<int>(world.stage.phase()) << " with "
                             << world.bundles << " bundles";
  if (depth == 0) return;
  const auto next = [&](auto&& act) {
    World after = world;
    act(after);
    explore(after, depth - 1);
  };
  next([](World& w) { w.ring(); });
  next([](World& w) { w.learn(w.stage.move(Event::close)); });
  switch (world.stage.phase()) {
    case Phase::off:
      // A reconfiguration opens only when all bundles were accepted.
      if (world.bundles == 0) next([](World& w) { w.learn(w.stage.move(Event::open)); });
      // The pool accepts a bundle.
      if (world.bundles != 0) next([](World& w) { --w.bundles; });
      return;
    case Phase::vacant:
      next([](World& w) { w.learn(w.stage.move(Event::take)); });
      return;
    case Phase::working:
    case Phase::leaving:
      if (world.bundles != 0) {
        next([](World& w) { --w.bundles; });
      } else {
        next([](World& w) { w.learn(w.stage.move(Event::idle)); });
      }
      return;
    case Phase::rung:
      next([](World& w) {
        w.stage_told = false;
        w.learn(w.stage.move(Event::wake));
      });
      return;
    case Phase::resting:
      return;
  }
}

TEST(Stage, leaves_no_bundle_to_a_thread_that_sleeps) {
  visited = 0;
  explore(World{}, 12);
  EXPECT_EQ(phases_seen.size(), static_cast<std::size_t>(stage_phases)) << "every phase is reached";
  EXPECT_GT(visited, 10'000);
}

}  // namespace
}  // namespace k2k::server
