#pragma once
// Calls that name K2K's own descriptors, memory or threads (base/own_descriptors.hpp,
// base/own_process.hpp): refused under every policy.
//
//   descriptors  services/own_descriptors.hpp                                          EBADF
//   memory       munmap, mprotect, pkey_mprotect, mremap, remap_file_pages, mmap with MAP_FIXED,
//                shmat with SHM_REMAP, madvise that changes the content of pages or takes them from
//                a forked child                                                        EPERM
//   threads      rt_tgsigqueueinfo to a thread of K2K's; rt_sigqueueinfo and rt_tgsigqueueinfo to
//                this process, by the number of any of its threads, with SIGKILL or SIGSTOP; fcntl
//                that chooses one of these two for a descriptor (F_SETSIG)             EPERM
//   keyrings     add_key, request_key and keyctl that name the keyring of a thread, a process or a
//                request, or that choose other keyrings for the calling thread: Linux keeps all of
//                these for each thread, and the thread is a service thread             EPERM
//   children     waitid without WNOWAIT: it reaps a child of the host program, which then waits for
//                it in vain                                                            EPERM
//
// wait4, which always reaps, and kill, tkill, tgkill and pidfd_send_signal are refused whatever
// they name (calls/families).
//
// Threading: any thread.

#include <cstdint>

#include "services/request.hpp"

namespace k2k::services {

// 0, or the negative errno of the answer.
std::int64_t refuse_own(const Request& request);

}  // namespace k2k::services
