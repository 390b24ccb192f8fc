/* table.h: the functions that libk2k_io.so needs from the library that it loads at the first device
 * pointer.
 *
 * libk2k_io.so links libc only. libk2k_io_router.so, beside it, brings the router, the engines and
 * their libraries. This table is the only interface between the two. New functions are added at the
 * end; `bytes` tells which functions a table has.
 *
 * Every function may be called from any thread. Calls of read, close and so on that the router
 * library itself makes come back to libk2k_io.so, which recognises them by their return address and
 * passes them to libc.
 */
#ifndef K2K_SHIM_TABLE_H
#define K2K_SHIM_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "k2k/io.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { k2k_io_table_version = 1 };

/* Counted since the router library was loaded; in the child of a fork, since the fork. */
struct k2k_io_counts {
  uint64_t reads, writes;
  uint64_t unprobed; /* Not probed: too short, or expected to be cached. */
  uint64_t mixed;    /* Some pages came by direct transfers. */
  uint64_t bytes_cache, bytes_direct;
  uint64_t fall_backs;    /* Direct transfers refused; their bytes came by pread or pwrite. */
  uint64_t files_refused; /* Files whose file system refuses direct transfers. */
  uint64_t misaligned;    /* Memory that direct transfers cannot take. */
  uint64_t pages_ahead, pages_evicted; /* Read ahead for sequential reads; evicted of these. */
};

/* Pages read ahead, counted since the same time. */
struct k2k_io_ahead {
  uint64_t held;  /* In the page cache, or on the way there, for the router library alone. */
  uint64_t kept;  /* Left in the page cache, because the program used them itself. */
  uint64_t again; /* Read ahead again after an eviction. */
};

/* A call as the program made it, for memory that Linux cannot reach. */
struct k2k_io_call {
  const struct iovec* pieces;
  int count;
  int descriptor;
  int write;       /* 0: a read. */
  int at_position; /* 1: the file's own position; `offset` is ignored. */
  int64_t offset;  /* Bytes. */
  int flags;       /* RWF_ of preadv2(2). */
};

struct k2k_io_table {
  uint32_t version; /* k2k_io_table_version */
  uint32_t bytes;   /* sizeof(struct k2k_io_table) of the router library. */

  /* As pread(2) and pwrite(2) of a regular file or block device; the answer is the count or a
   * negative errno. `memory` lies in one registered range. The descriptor was open for this
   * direction, without O_DIRECT, O_APPEND and O_SYNC, when it was first seen. The router library
   * makes sure that its twin still is the descriptor's file: a close may escape libk2k_io.so. */
  ssize_t (*pread)(int descriptor, void* memory, size_t bytes, int64_t offset);
  ssize_t (*pwrite)(int descriptor, const void* memory, size_t bytes, int64_t offset);

  /* As posix_fadvise(2): 0 or a positive errno. */
  int (*advise)(int descriptor, int64_t offset, int64_t bytes, int advice);

  /* The program is closing its last descriptor of this inode, in the calling thread, now. The
   * descriptor is still open, unless its close escaped libk2k_io.so before. When this returns, the
   * router library has closed its own descriptors of the inode: a later close would drop POSIX
   * locks that the program took meanwhile. */
  void (*forget)(int descriptor, uint64_t device, uint64_t inode);

  void (*stats)(struct k2k_io_counts* counts);

  /* To be called first in the child of a fork. The child has none of the parent's threads, so
   * nothing waits for them. */
  void (*after_fork_child)(void);

  /* Does the router library own this descriptor? The program sees it as not open. */
  int (*owns)(int descriptor);

  /* Null where Linux can address device memory. Otherwise makes the call as one call, through
   * memory that Linux can address. Answers as pread. */
  ssize_t (*whole)(const struct k2k_io_call* call);

  /* The functions below are for memory of the kinds (k2k_io_kind) that neither CPU nor kernel can
   * address. Does this library serve that kind? If not, one line on standard error gives the reason
   * once, and libc makes the calls. */
  int (*serves)(int kind);

  /* As pread and pwrite. A write is one call of Linux. The program may free other memory of this
   * kind during the call, but not this memory. */
  ssize_t (*pread_in)(int kind, int descriptor, void* memory, size_t bytes, int64_t offset);
  ssize_t (*pwrite_in)(int kind, int descriptor, const void* memory, size_t bytes, int64_t offset);

  /* As `whole`. `in_kind` has one byte per piece: 1 for memory of that kind, 0 for memory that the
   * kernel can address. */
  ssize_t (*whole_in)(int kind, const struct k2k_io_call* call, const unsigned char* in_kind);

  /* The number of pages that the router library keeps in the page cache for device reads alone, and
   * evicts when they are no longer needed. Null: it never keeps any. Cheap: called after each call
   * with device memory. */
  uint64_t (*held)(void);

  /* The program read or wrote these bytes itself, with memory of the host: their pages now belong
   * to the program. Called only while held() is not 0, for any descriptor, of files or not. */
  void (*used_by_host)(int descriptor, int64_t offset, uint64_t bytes);

  void (*ahead)(struct k2k_io_ahead* counts);

  /* The number of writes that bypassed the page cache in part. Null: none does. Only with
   * K2K_IO_EXCLUSIVE=1 may pwrite() be more than one call of Linux. */
  uint64_t (*writes_direct)(void);
};

/* The only symbol of the router library. Null with errno: it cannot serve this version, or not on
 * this machine. */
const struct k2k_io_table* k2k_io_table_get(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif
