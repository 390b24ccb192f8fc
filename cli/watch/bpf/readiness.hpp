#pragma once
// Can BPF programs be used here? Apart from the tracer, because k2k doctor asks, too, and k2k has
// no other part of the watcher.
//
// Threading: any thread.

#include <optional>

#include "base/result.hpp"

namespace k2k::watch {

// Found without loading a program: nothing if Tracer::start() is likely to succeed, else its error.
// EPERM: only this process lacks the rights.
std::optional<Error> no_bpf();

}  // namespace k2k::watch
