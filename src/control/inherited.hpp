#pragma once
// Descriptors that a forked child must close: a child with its parent's socket would keep the
// socket open, without answering, after the parent's end.
//
// Threading: from anywhere. The child's half runs in fork(), so it takes no lock: the table
// consists of words. A descriptor beyond the table is not closed in a child; a client then waits
// for its timeout.

namespace k2k::control {

void close_in_child(int descriptor);
// Call it before the descriptor is closed in this process, so that a child cannot close its
// successor.
void keep_in_child(int descriptor);

}  // namespace k2k::control
