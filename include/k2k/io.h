/* io.h: tells libk2k_io.so which memory is a device's.
 *
 *   LD_PRELOAD=libk2k_io.so program
 *
 * In such a program read(2), pread(2), readv(2), write(2) and related calls accept device memory: a
 * buffer that lies in a range registered here is read and written by the fastest mix of page cache
 * and direct transfers, with the results that Linux would give. Calls with any other buffer go to
 * libc unchanged. A program that may also run without the library looks the functions up by name:
 * dlsym(RTLD_DEFAULT, "k2k_io_register").
 *
 * Threading: any thread, not from signal handlers, at any time while others read and write. A range
 * must not be unregistered while a call uses it.
 *
 * C11; self-contained.
 */
#ifndef K2K_IO_H
#define K2K_IO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { k2k_io_ranges_max = 256 };

/* The device that owns the memory. The library registers the memory of cudaMalloc(), cuMemAlloc(),
 * hipMalloc() and related functions (Managed, Async, FromPoolAsync, Pitch) until it is freed, if
 * the program is linked to these functions. A program must register memory itself if it finds the
 * functions by dlsym(), contains them (a static CUDA runtime), or uses cuMemMap() or the arrays of
 * cudaMalloc3D(). Stream-ordered memory exists once its stream has reached the allocation, for
 * reads of files as for other streams. */
enum k2k_io_kind {
  k2k_io_mapped = 1, /* The CPU and Linux can address it: mapped PCI memory, managed memory. */
  k2k_io_cuda = 2,   /* Only a CUDA device. */
  k2k_io_hip = 3     /* Only a HIP device. */
};

/* 0, or a negative errno:
 *   -EINVAL  null, no bytes, an end beyond the address space, or an unknown kind
 *   -EEXIST  it overlaps a registered range
 *   -ENOSPC  k2k_io_ranges_max are registered */
int k2k_io_register_kind(void* address, size_t bytes, int kind);

/* The same, for k2k_io_mapped. */
int k2k_io_register(void* address, size_t bytes);

/* `address` is the beginning of a registered range. -ENOENT: no range begins there. */
int k2k_io_unregister(void* address);

#ifdef __cplusplus
}
#endif
#endif
