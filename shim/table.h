/* table.h: what libk2k_io.so asks of the library that it loads at the first device pointer.
 *
 * libk2k_io.so links libc only. libk2k_io_router.so, beside it, brings the router, the engines and
 * what these need. Between the two stands this table and nothing else. Functions are only added, at
 * the end; `bytes` tells which are there.
 *
 * Every function may be called from any thread. Calls that the router library itself makes of read,
 * close and so on come back to libk2k_io.so, which knows them by the address that they return to
 * and hands them to libc.
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

/* Since the router library's begin; in the child of a fork, since that. */
struct k2k_io_counts {
  uint64_t reads, writes;
  uint64_t unprobed; /* Not probed: too short, or expected to be cached. */
  uint64_t mixed;    /* Some pages came directly. */
  uint64_t bytes_cache, bytes_direct;
  uint64_t fall_backs;    /* Direct transfers refused; their bytes came by pread or pwrite. */
  uint64_t files_refused; /* Files without: their file system has none, or refused one. */
  uint64_t misaligned;    /* Memory that direct transfers cannot take. */
  uint64_t pages_ahead, pages_evicted; /* Read ahead for sequential reads; of these, let go. */
};

/* Of the pages read ahead, since the same time. */
struct k2k_io_ahead {
  uint64_t held;  /* Now in the page cache for the router library alone, or to be. */
  uint64_t kept;  /* Left there, for the program used them itself. */
  uint64_t again; /* Read ahead once more, after they had been let go. */
};

/* A call as the program made it, for memory that the kernel cannot reach. */
struct k2k_io_call {
  const struct iovec* pieces;
  int count;
  int descriptor;
  int write;       /* 0: it reads. */
  int at_position; /* The file's own; `offset` means nothing. */
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

  /* The program is closing its last descriptor of this inode, in the calling thread, now; it is
   * still open, unless its close escaped libk2k_io.so before. What the router library has open of
   * the inode is closed when this returns, for a later close would drop POSIX locks that the
   * program took meanwhile. */
  void (*forget)(int descriptor, uint64_t device, uint64_t inode);

  void (*stats)(struct k2k_io_counts* counts);

  /* First thing in the child of a fork, which has none of the parent's threads: they are not waited
   * for. */
  void (*after_fork_child)(void);

  /* Is this one of the router library's own descriptors? To the program it is not open. */
  int (*owns)(int descriptor);

  /* Null where the kernel reaches device memory, else makes the call through memory that it
   * does reach, as one call. Answers as pread. */
  ssize_t (*whole)(const struct k2k_io_call* call);

  /* What follows is of memory of the kinds (k2k_io_kind) that neither CPU nor kernel reach. Is that
   * kind served here? If not, why is said once on standard error, and libc has its calls. */
  int (*serves)(int kind);

  /* As pread and pwrite. A write is one call of the kernel. The program may free other memory of
   * this kind meanwhile, not this. */
  ssize_t (*pread_in)(int kind, int descriptor, void* memory, size_t bytes, int64_t offset);
  ssize_t (*pwrite_in)(int kind, int descriptor, const void* memory, size_t bytes, int64_t offset);

  /* As `whole`. `in_kind` has a byte a piece: 1 for memory of that kind, 0 for what the kernel
   * reaches. */
  ssize_t (*whole_in)(int kind, const struct k2k_io_call* call, const unsigned char* in_kind);

  /* How many pages the router library has in the page cache for device reads alone, and evicts when
   * it needs them no more; null: it never has any. Cheap: called after each call with device
   * memory. */
  uint64_t (*held)(void);

  /* The program read or wrote these bytes itself, with memory of the host: their pages are its own
   * now. Called only while held() is not 0; of any descriptor, files or not. */
  void (*used_by_host)(int descriptor, int64_t offset, uint64_t bytes);

  void (*ahead)(struct k2k_io_ahead* counts);

  /* How many writes went past the page cache in part; null: none does. Only where the user says so
   * (K2K_IO_EXCLUSIVE=1) pwrite() may be more than one call of the kernel. */
  uint64_t (*writes_direct)(void);
};

/* The one symbol of the router library. Null with errno: it cannot serve this version, or here. */
const struct k2k_io_table* k2k_io_table_get(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif
