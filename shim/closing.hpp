#pragma once
// The part that the closing functions of libc and syscall(2) share. To be called only where
// closes_matter(). `caller`: the return address of the call, which tells calls of the router
// library from the program's calls.
//
// Threading: any thread.

namespace k2k::shim {

// Returns false, with errno, if the program has no such descriptor.
bool may_close(int descriptor, const void* caller);

// To be called before `to` becomes a copy of `from`. Returns false, with errno, if `to` must stay.
bool may_replace(int from, int to, const void* caller);

// As close_range(2) without flags: closes the program's descriptors of first..last, in stretches
// between the descriptors of the router library.
int close_ours(unsigned first, unsigned last);

}  // namespace k2k::shim
