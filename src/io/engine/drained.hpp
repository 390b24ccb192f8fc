#pragma once
// Polls an engine's transfers in flight at the end of a scope, also after an error.
//
// Threading: the engine's owner.

#include <array>

#include "io/engine/engine.hpp"

namespace k2k::io {

class Drained {
 public:
  explicit Drained(Engine& engine) : engine_(engine) {}
  ~Drained() {
    std::array<Completion, 64> completions;
    while (engine_.outstanding() > 0) engine_.poll(completions, completions.size());
  }
  Drained(const Drained&) = delete;
  Drained& operator=(const Drained&) = delete;

 private:
  Engine& engine_;
};

}  // namespace k2k::io
