#pragma once
// What a launch leaves behind in the syscall area, put in order before the next one begins.
//
// A slot is still locked when its async ticket was never redeemed, when its work-item was
// abandoned (cancel, exception, deadlock), or when the runtime closed under it:
//
//   populating         claimed, never submitted: goes to the host as a detached nop
//   ready, processing  the host's: wait until it is finished, however long its call takes
//   finished           nobody wants the answer: free
//   *area.closed set   nobody serves any more: only the lock is given up; the state guards the slot
//
// Cost: a load a row, and nothing for slots that are not locked.
// Threading: launch() only, after all units are done.

#include <cstdint>

#include "protocol/area.hpp"

namespace k2k::backend {

// Returns how many async calls nobody redeemed.
std::uint32_t sweep(const protocol::AreaView& area);

}  // namespace k2k::backend
