#pragma once
// The work-item that runs on this thread, or nullptr on a thread that is no compute unit.
//
// One thread-local pointer in the static block: a hook reads it in one instruction even inside
// libk2k.so. A fibre never changes threads, so the compiler may keep its address.

#include "backend/cpu/simt/group.hpp"

namespace k2k::backend::cpu {

extern constinit thread_local WorkItem* running __attribute__((tls_model("initial-exec")));

}  // namespace k2k::backend::cpu
