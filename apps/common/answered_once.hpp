#pragma once
// A call of libc for a whole work-group: item 0 makes it and all items get its answer, with the
// barriers that K2K's calls have. The cpu backend alone.
//
// Threading: device code; every item of the group calls it.

#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::apps {

// A word for each of two calls in turn: an item may read an answer while item 0 makes the next
// call.
struct AnswersInTurn {
  long values[2];
  std::uint32_t turn;
};

template <class Call>
long answered_once(const Call& call) {
  K2K_LOCAL(AnswersInTurn, answers);
  const std::uint32_t turn = answers.turn % 2;
  k2k::barrier();  // Every item has read the turn.
  if (k2k::item_rank() == 0) {
    answers.values[turn] = call();
    ++answers.turn;
  }
  k2k::barrier();
  return answers.values[turn];
}

}  // namespace k2k::apps
