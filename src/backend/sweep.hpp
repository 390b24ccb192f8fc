#pragma once
// Cleans up the syscall area after a launch, before the next one begins.
//
// A slot is still locked if its async ticket was never redeemed, if its work-item was abandoned
// (cancel, exception, deadlock), or if the runtime closed meanwhile:
//
//   populating         claimed, never submitted: goes to the host as a detached nop
//   ready, processing  the host's: wait until it is finished, however long its call takes
//   finished           the answer is not needed: free
//   *area.closed set   the server has ended: only the lock is released; the state guards the slot
//
// Cost: one load per row, and nothing for slots that are not locked.
// Threading: launch() only, after all units are done.

#include <cstdint>

#include "protocol/area.hpp"

namespace k2k::backend {

// Returns the number of async calls with tickets that were not redeemed.
std::uint32_t sweep(const protocol::AreaView& area);

}  // namespace k2k::backend
