/* io.h: tells libk2k_io.so which memory is a device's.
 *
 *   LD_PRELOAD=libk2k_io.so program
 *
 * In a program that runs so, read(2), pread(2), readv(2), write(2) and their kin take device memory
 * like any other: a buffer that lies in a range registered here is read and written by the fastest
 * mix of page cache and direct transfers, with the answers that the kernel would give. Every other
 * buffer goes to libc as it is. A program that may also run without the library looks the functions
 * up by name: dlsym(RTLD_DEFAULT, "k2k_io_register").
 *
 * Threading: any thread, not from signal handlers, at any time while others read and write. A range
 * must not be taken back while a call uses it.
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

/* Whose memory it is. What cudaMalloc(), cuMemAlloc(), hipMalloc() and their kin (Managed, Async,
 * FromPoolAsync, Pitch) return is registered by the library, and no longer so when it is freed,
 * wherever the program is linked to these functions. Who looks them up by dlsym(), has them in
 * itself (a static CUDA runtime), or takes cuMemMap() or the arrays of cudaMalloc3D() registers by
 * itself. Memory that is allocated in the order of a stream is there when the stream got there, for
 * reads of files as for other streams. */
enum k2k_io_kind {
  k2k_io_mapped = 1, /* CPU and kernel reach it: a mapped PCI device's, managed memory, any. */
  k2k_io_cuda = 2,   /* A CUDA device's alone. */
  k2k_io_hip = 3     /* A HIP device's alone. */
};

/* 0, or a negative errno:
 *   -EINVAL  null, no bytes, an end beyond the address space, or no kind of the above
 *   -EEXIST  it overlaps one that is registered
 *   -ENOSPC  k2k_io_ranges_max are registered */
int k2k_io_register_kind(void* address, size_t bytes, int kind);

/* Likewise, of k2k_io_mapped. */
int k2k_io_register(void* address, size_t bytes);

/* `address` is the beginning of a registered range. -ENOENT: of none. */
int k2k_io_unregister(void* address);

#ifdef __cplusplus
}
#endif
#endif
