#pragma once
// One transfer by an engine, waited for.
//
// Threading: the engine's owner.

#include <cstdint>

#include "base/contract.hpp"
#include "io/engine/drained.hpp"
#include "io/engine/engine.hpp"

namespace k2k::io {

// Returns its completion's result. Expects an engine without outstanding transfers, and leaves it
// so.
inline std::int64_t result_of(const Transfer& transfer, Engine& engine) {
  const Drained drained(engine);
  Completion completion;
  K2K_EXPECT(engine.submit({&transfer, 1}) == 1);
  K2K_EXPECT(engine.poll({&completion, 1}, 1) == 1);
  return completion.result;
}

}  // namespace k2k::io
