// Goal: the table in slot_state.hpp contains exactly the moves of its diagram.
// Method: the space is tiny (5 states x 5 states x 2 sides), so every move is tried.

#include "protocol/slot_state.hpp"

#include <gtest/gtest.h>

namespace k2k::protocol {
namespace {

// The diagram a second time, as a matrix: the letter is the side that may make the move.
// Columns: free, populating, ready, processing, finished.
constexpr const char* expected_moves[] = {
    /* free       */ ".d...",
    /* populating */ "..d..",
    /* ready      */ "...h.",
    /* processing */ "h...h",
    /* finished   */ "d....",
};

TEST(SlotState, allows_the_drawn_moves_and_no_other) {
  for (int from = 0; from < slot_state_count; ++from) {
    for (int to = 0; to < slot_state_count; ++to) {
      SCOPED_TRACE(testing::Message() << from << " -> " << to);
      const char expected = expected_moves[from][to];
      EXPECT_EQ(may_move(SlotState(from), SlotState(to), Side::device), expected == 'd');
      EXPECT_EQ(may_move(SlotState(from), SlotState(to), Side::host), expected == 'h');
    }
  }
}

TEST(SlotState, lets_only_the_owner_leave_a_state) {
  for (const SlotTransition& move : slot_transitions) {
    EXPECT_EQ(move.by, owner_of(move.from));
  }
}

TEST(SlotState, can_leave_every_state) {
  for (int from = 0; from < slot_state_count; ++from) {
    bool leaves = false;
    for (const SlotTransition& move : slot_transitions) leaves |= move.from == SlotState(from);
    EXPECT_TRUE(leaves) << from;
  }
}

TEST(SlotState, cannot_loop_without_passing_free) {
  for (const SlotTransition& move : slot_transitions) {
    EXPECT_TRUE(move.to > move.from || move.to == SlotState::free);
  }
}

}  // namespace
}  // namespace k2k::protocol
