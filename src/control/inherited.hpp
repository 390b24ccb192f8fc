#pragma once
// Descriptors that a forked child is to let go of: a child that kept its parent's socket would hold
// it open, silent, behind the parent's end.
//
// Threading: from anywhere. The child's half runs in fork(), so it takes no lock: the table is
// words. A descriptor beyond the table is not closed in a child, which costs a client its timeout.

namespace k2k::control {

void close_in_child(int descriptor);
// Before the descriptor is closed here, so that a child cannot close its successor.
void keep_in_child(int descriptor);

}  // namespace k2k::control
