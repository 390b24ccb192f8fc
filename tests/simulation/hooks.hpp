#pragma once
// The simulator's entry points for the simulated primitives (seam/protocol/words.hpp).
//
// Threading: one operating-system thread; every function is called on the fibre of an agent.

#include <cstddef>
#include <cstdint>

namespace k2k::simulation {

// Any other agent may run here, and the bus may deliver a store.
void step();

// A release store to a host-visible word by the running agent, at once visible to its own side.
void release(void* word, std::uint64_t value, std::size_t bytes);

// The same, released to its own side alone: to the other side it is a plain store.
void release_to_own_side(void* word, std::uint64_t value, std::size_t bytes);

// Is this word in memory that both sides share?
bool is_shared(const void* word);

// The running agent changed a word of device memory from `before`.
void device_word_changed(const void* word, std::uint64_t before, std::uint64_t after);

// Simulated cycles so far: they pass with the steps.
std::uint64_t clock();

}  // namespace k2k::simulation
