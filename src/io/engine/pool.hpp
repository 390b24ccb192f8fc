#pragma once
// The thread-based engine for calls that block: for make_pool() (engine.hpp) and the vendors'
// libraries.
//
// Threading: as every engine; `serve` is called by several threads at a time.

#include <cstdint>
#include <functional>
#include <memory>

#include "io/engine/engine.hpp"

namespace k2k::io {

// Makes a transfer and returns the result for its Completion.
using Serve = std::function<std::int64_t(const Transfer&)>;

// Each thread calls `enter` first. Errors: as make_pool().
Result<std::unique_ptr<Engine>> make_threads(const Capabilities& capabilities,
                                             std::uint32_t threads, Serve serve,
                                             std::function<void()> enter = {});

}  // namespace k2k::io
