#pragma once
// Reads and writes memory of this process that need not be there: a request names its address.
//
// Threading: reentrant.

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace k2k::services {

// 0, EFAULT, or another error if the system refuses such copies.
inline int copy_in(std::uint64_t address, void* into, std::size_t bytes) {
  const iovec here{into, bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  const ssize_t copied = ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0);
  if (copied == static_cast<ssize_t>(bytes)) return 0;
  return copied < 0 ? errno : EFAULT;
}

// Likewise. After an error, a part may be written.
inline int copy_out(std::uint64_t address, const void* from, std::size_t bytes) {
  const iovec here{const_cast<void*>(from), bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  const ssize_t copied = ::process_vm_writev(::getpid(), &here, 1, &there, 1, 0);
  if (copied == static_cast<ssize_t>(bytes)) return 0;
  return copied < 0 ? errno : EFAULT;
}

}  // namespace k2k::services
