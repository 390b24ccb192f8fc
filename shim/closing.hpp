#pragma once
// What closing a descriptor by libc's functions or by syscall(2) has in common. Only where
// closes_matter(). `caller`: the address that the call returns to, which tells calls of
// the router library from the program's.
//
// Threading: any thread.

namespace k2k::shim {

// False, with errno: to the program it is not open.
bool may_close(int descriptor, const void* caller);

// Before `to` becomes a copy of `from`. False, with errno: it must not.
bool may_replace(int from, int to, const void* caller);

// As close_range(2) without flags: closes the program's descriptors of first..last, one stretch
// between two descriptors of the router library after another.
int close_ours(unsigned first, unsigned last);

}  // namespace k2k::shim
