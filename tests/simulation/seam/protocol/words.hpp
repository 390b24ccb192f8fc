#pragma once
// Replaces src/protocol/words.hpp in the simulation: this folder comes first on the include path.
// So the shipped code is simulated without changes.
//
// Each primitive is a point where another agent may run. Loads read the image of their own side;
// release stores wait in the bus (bus.hpp) until the other side may see them.
//
// Threading: as hooks.hpp.

#include <cstdint>

#include "base/attributes.hpp"
#include "tests/simulation/hooks.hpp"

namespace k2k::protocol {

template <class Word>
inline Word load_acquire(const Word* word) {
  simulation::step();
  return *word;
}
template <class Word>
inline void store_release(Word* word, Word value) {
  simulation::step();
  simulation::release(word, value, sizeof(Word));
}

// Data, as the arguments are: seen when the release store behind them is.
template <class Word>
inline Word load_hint(const Word* word) {
  return *word;
}
template <class Word>
inline void store_hint(Word* word, Word value) {
  *word = value;
}

template <class Word>
inline Word device_load(const Word* word) {
  simulation::step();
  return *word;
}
template <class Word>
inline void device_store(Word* word, Word value) {
  simulation::step();
  if (simulation::is_shared(word)) {
    simulation::release_to_own_side(word, value, sizeof(Word));
    return;
  }
  const Word before = *word;
  *word = value;
  simulation::device_word_changed(word, before, value);
}
template <class Word>
inline bool device_compare_exchange(Word* word, Word expected, Word desired) {
  simulation::step();
  if (*word != expected) return false;
  *word = desired;
  simulation::device_word_changed(word, expected, desired);
  return true;
}
template <class Word>
inline Word device_add(Word* word, Word amount) {
  simulation::step();
  const Word before = *word;
  *word = static_cast<Word>(before + amount);
  return before;
}
template <class Word>
inline Word device_or(Word* word, Word bits) {
  simulation::step();
  const Word before = *word;
  *word = before | bits;
  simulation::device_word_changed(word, before, *word);
  return before;
}
template <class Word>
inline void device_clear(Word* word, Word bits) {
  simulation::step();
  const Word before = *word;
  *word = before & ~bits;
  simulation::device_word_changed(word, before, *word);
}
// The bus lets a release store come after all earlier stores of its agent, as a fence would.
inline void fence_system() {}
template <class Word>
inline void store_after_fence(Word* word, Word value) {
  store_release(word, value);
}

// The simulated device has many threads: only the cpu backend exchanges without a locked
// instruction.
enum class DeviceScope : std::uint32_t { many_threads, one_thread };

template <class Word>
inline bool device_compare_exchange(DeviceScope, Word* word, Word expected, Word desired) {
  return device_compare_exchange(word, expected, desired);
}
template <class Word>
inline Word device_add(DeviceScope, Word* word, Word amount) {
  return device_add(word, amount);
}
template <class Word>
inline Word device_or(DeviceScope, Word* word, Word bits) {
  return device_or(word, bits);
}
template <class Word>
inline void device_clear(DeviceScope, Word* word, Word bits) {
  device_clear(word, bits);
}

}  // namespace k2k::protocol
