/* k2k.h: K2K for C, and for every language that can call C.
 *
 *   k2k_runtime* runtime;
 *   if (k2k_runtime_create(NULL, &runtime) != 0) return fail(k2k_last_error());
 *   k2k_launch(runtime, 8, 64, kernel, &argument, "my kernel");
 *   k2k_drain(runtime);
 *   k2k_runtime_destroy(runtime);
 *
 * Errors. Every function that can fail returns 0 or a negative errno, and leaves one line for a
 * person in k2k_last_error() of the calling thread. A null handle or pointer where one is needed is
 * -EINVAL. Any function may answer -ENOMEM.
 *
 * Ownership. The caller of ..._create calls ..._destroy. Strings and arguments are copied, except
 * the kernel's argument: the kernel receives the pointer itself, and its target must outlive the
 * launch.
 *
 * Threading. A k2k_runtime may be used by any number of threads; launches run one after the other.
 * A k2k_files may be used by any number of threads at once.
 * k2k_options may be used by one thread at a time. Nothing may be called on a handle while or after
 * it is destroyed. After fork() the child's copies of a runtime and of files answer -EPERM.
 *
 * Stability. Functions are only added. Handles are opaque; options are named by text, so that new
 * ones do not change this file.
 *
 * C11; self-contained.
 */
#ifndef K2K_K2K_H
#define K2K_K2K_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct k2k_runtime k2k_runtime;
typedef struct k2k_options k2k_options;
typedef struct k2k_files k2k_files;

/* A kernel: called once a work-item, on the device. May call the k2k_dev_ functions. */
typedef void (*k2k_kernel)(void* argument);

/* "0.1.0"; lives as long as the library. */
const char* k2k_version(void);

/* The message of this thread's last failed call; "" if none failed. Valid until this thread's next
 * call of K2K. Never null. */
const char* k2k_last_error(void);

/* --- options ----------------------------------------------------------------------------------
 * The settings that `k2k config show` lists, by name: "device.wave_lanes", "server.spin_us". */

int k2k_options_create(k2k_options** options);

/* Accepts null. */
void k2k_options_destroy(k2k_options* options);

/* Also reads the environment and the configuration file; k2k_options_set() overrides both.
 * `file` names the file; null finds it as the command line does; "" reads none.
 *   -EINVAL  a wrong or unknown setting there    -ENOENT and others  the file cannot be read */
int k2k_options_load(k2k_options* options, const char* file);

/* Sets one option, as text: "32", "true", "0,2-3".
 *   -EINVAL  unknown key (the message names the nearest), or a value out of range */
int k2k_options_set(k2k_options* options, const char* key, const char* value);

/* --- runtime ---------------------------------------------------------------------------------- */

/* Builds the device and starts to serve. `options` may be null: all defaults, no file, no
 * environment; it may be destroyed afterwards. On an error *runtime is null.
 *   -EINVAL  options that do not fit together    -ENODEV  unknown backend
 *   -ENOMEM  no memory for the device            -EAGAIN  no thread could be started */
int k2k_runtime_create(const k2k_options* options, k2k_runtime** runtime);

/* Waits for calls in flight for at most server.shutdown_ms. Accepts null. Not while a launch is in
 * progress: k2k_cancel() it and let it return. */
void k2k_runtime_destroy(k2k_runtime* runtime);

/* Runs `kernel` in `groups` work-groups of `group_items` work-items each and waits for its end.
 * `name` appears in messages; null is "kernel".
 *   -EINVAL     a shape beyond the device's limits    -ECANCELED  k2k_cancel() was called
 *   -EDEADLK    every work-item waits for another     -EIO        the kernel threw (C++)
 *   -EPERM      after fork() */
int k2k_launch(k2k_runtime* runtime, uint32_t groups, uint32_t group_items, k2k_kernel kernel,
               void* argument, const char* name);

/* Returns once every call made so far was answered, detached ones included.
 *   -EIO    detached calls failed; the message says which. They are not reported again.
 *   -EPERM  after fork() */
int k2k_drain(k2k_runtime* runtime);

/* Ends the launch in progress, if any, when its work-items next wait; a launch that has not begun
 * runs as if nothing had been said. Calls that sleep are ended by a real-time signal to K2K's own
 * threads (docs/decisions/0044). Async-signal-safe: leaves k2k_last_error() alone. -EINVAL for
 * null. */
int k2k_cancel(k2k_runtime* runtime);

/* Device memory, zeroed, 64-byte aligned. On an error *address is null. -ENOMEM. */
int k2k_allocate(k2k_runtime* runtime, size_t bytes, void** address);

/* Accepts a null address; otherwise one of k2k_allocate() of the same runtime. */
int k2k_free(k2k_runtime* runtime, void* address);

/* Writes the server's statistics as one JSON object, ended by a NUL byte. `needed` may be null;
 * else it receives the bytes needed, the NUL byte included. `buffer` may be null if `bytes` is 0.
 *   -ERANGE  `bytes` is too small; the buffer holds "" then (if bytes > 0) */
int k2k_stats_json(const k2k_runtime* runtime, char* buffer, size_t bytes, size_t* needed);

/* --- functions of the host ---------------------------------------------------------------------
 * Functions of this program that kernels call by name (k2k_dev_host_call(); in C++ kernels
 * k2k::host_call()). A signature such as "f64(i32,in f32,out u8)" has the types of reply and
 * parameters: void (reply only), i8 to i64, u8 to u64, f16 to f64, s24 (24 bytes of any kind), and
 * buffers of them: in, out (zeroed), inout. */

typedef struct k2k_buffer {
  void* data;
  size_t bytes;
} k2k_buffer;

/* `buffers` and `values` are the arguments in the order of the signature: buffers, and all other
 * values, each of which begins at a multiple of 8 bytes. `reply` has room for the reply. Returns 0
 * or a negative errno, which the caller gets. Several threads may be in the function at once.
 * Of its own runtime it may use k2k_stats_json() and k2k_cancel(); functions that would wait for it
 * answer -EDEADLK. */
typedef int (*k2k_host_function)(void* context, const k2k_buffer* buffers, const void* values,
                                 void* reply);

enum k2k_host_class {
  /* May wait, and may take long: runs on a thread of its own, on copies of its buffers. A launch
   * that ends early, and k2k_runtime_destroy(), do not wait for it; its results are dropped. */
  k2k_may_block = 0,
  /* Is short and waits for nothing: runs at once, on the buffers themselves. */
  k2k_never_blocks = 1
};

/* Kernels may call the function from now on. `context` is passed to it; both must stay valid until
 * k2k_withdraw() returns, or for as long as a call of the function lasts.
 *   -EINVAL  null, an empty name, one beyond 127 bytes or that begins with "k2k.", a signature with
 *            a mistake (the message names its place), or an unknown class
 *   -EEXIST  the name is taken    -EMSGSIZE  arguments and reply take more than 4096 bytes
 *   -ENOSPC  256 are provided     -EDEADLK   in a host function    -EPERM  after fork() */
int k2k_provide(k2k_runtime* runtime, const char* name, const char* signature, int host_class,
                k2k_host_function function, void* context);

/* Kernels that call the function get -ENOSYS from now on. Returns once no call of it runs.
 *   -ENOENT  no such function    -EDEADLK  in a host function    -EPERM  after fork() */
int k2k_withdraw(k2k_runtime* runtime, const char* name);

/* --- kernels of other libraries ----------------------------------------------------------------
 * Kernels that Numba, CuPy, PyTorch, cuda.core or this program launch by CUDA itself, into the
 * primary context of the first device, on any stream. Only with backend = "cuda". A kernel gets
 * k2k_serve_context() as an argument and passes it to k2k::begin() (k2k/foreign.hpp) or
 * k2k_dev_begin() (the device library, k2k_device.ptx). */

/* The runtime looks for the calls of such kernels from now on, with a thread that polls;
 * k2k_launch() is refused with -EBUSY meanwhile. Waits for a launch in progress. -ENOTSUP  the
 * backend has no such kernels    -EBUSY  it serves already -EDEADLK  in a host function -EPERM
 * after fork() */
int k2k_serve(k2k_runtime* runtime);

/* A device address, valid until k2k_serve_end(). It tells kernels which memory is registered: after
 * k2k_memory_register() ask again. Older addresses stay valid; memory that they do not know is
 * copied. Ask before the kernel is launched: this may allocate device memory.
 *   -EINVAL  k2k_serve() was not called   -ENOMEM, -EIO  from the driver
 *   -EDEADLK  in a host function          -EPERM  after fork() */
int k2k_serve_context(k2k_runtime* runtime, uint64_t* context);

/* Waits for all kernels of the device's primary context, and serves their calls meanwhile; after
 * k2k_cancel() their waiting work-items leave. Kernels launched later must not use the context.
 * k2k_runtime_destroy() without it answers waiting calls with -ECANCELED.
 *   -EINVAL  k2k_serve() was not called
 *   -ECANCELED  k2k_cancel() was called       -EIO  a kernel failed: serving has ended
 *   -EDEADLK  in a host function              -EPERM  after fork() */
int k2k_serve_end(k2k_runtime* runtime);

/* --- files ------------------------------------------------------------------------------------
 * File data by the fastest mix of page cache and direct transfers. Needs no runtime. */

/* `options` as for k2k_runtime_create(). On an error *files is null.
 *   -EINVAL  options that do not fit together */
int k2k_files_create(const k2k_options* options, k2k_files** files);

/* Not while a read is in progress. Accepts null. Closes the twins (k2k_files_closing()). */
void k2k_files_destroy(k2k_files* files);

/* pread(2): the bytes read, 0 at the end of the file, or a negative errno. Less than `bytes` near
 * the end, beyond 2,147,479,552 bytes, and where Linux returns less. A page can come directly
 * only if `memory` and `offset` leave the same rest when divided by 4096 (512 on many devices).
 * Memory of a GPU alone is taken where it is registered (k2k_memory_register()); any offset suits
 * it. -EINTR, -EIO, -ESPIPE, ...  as pread(2)    -EPERM  after fork() */
int64_t k2k_files_pread(k2k_files* files, int descriptor, void* memory, size_t bytes,
                        int64_t offset);

/* To be called before the program closes a descriptor that it read from. For direct transfers the
 * file's inode is opened a second time, close-on-exec: this closes that twin, which would else stay
 * until some 64 other files were read. As any close(2) it drops the process's POSIX locks on the
 * file. 0 for any descriptor.
 *   -EPERM  after fork() */
int k2k_files_closing(k2k_files* files, int descriptor);

/* Statistics of reads, in the format of k2k_stats_json(): "reads", "bytes_cache", "bytes_direct",
 * ...; including all reads of this process into registered memory since `files` was created. With
 * files.router off, only reads into registered memory count.   -ERANGE  as k2k_stats_json() */
int k2k_files_stats_json(const k2k_files* files, char* buffer, size_t bytes, size_t* needed);

/* --- memory -----------------------------------------------------------------------------------
 * GPU memory, which neither the CPU nor Linux can address. After its registration,
 * k2k_files_pread() reads into it, and kernels of every runtime read into it and write from it, as
 * with ordinary memory. A request that begins in a range and ends beyond it is answered with
 * -EFAULT. Memory that the CPU can address need not be registered. Unverified on hardware. */

enum k2k_memory_kind {
  k2k_memory_cuda = 2, /* cudaMalloc(), cuMemAlloc() and related functions, on the first device. */
  k2k_memory_hip = 3   /* hipMalloc() and related functions, on the first device. */
};

/* The first range pins host memory: do not call it while a kernel runs that waits for its requests.
 *   -EINVAL  null, no bytes, an end beyond the address space, or an unknown kind
 *   -EEXIST  it overlaps registered memory            -ENOSPC  256 ranges are registered
 *   -ENODEV  no driver, or no device                  -EIO     from the driver
 * After fork() the child has no range; it cannot use the parent's device. */
int k2k_memory_register(void* address, size_t bytes, int kind);

/* Call it before the memory is freed. Waits for the calls that use it; a call on a pipe may last.
 *   -ENOENT  no registered memory begins at `address` */
int k2k_memory_unregister(void* address);

/* 1: the bytes lie in one registered range, 0: they do not. */
int k2k_memory_registered(const void* address, size_t bytes);

/* --- device -----------------------------------------------------------------------------------
 * Only from inside a kernel; elsewhere they end the process with a message. They never touch
 * k2k_last_error(). Only on the cpu backend: C compiles to no other device. */

/* Any Linux system call, by its number on x86-64, made by this work-item. Pointers must be visible
 * to the host (every pointer, unless device.strict). The call's result, or a negative errno:
 *   -ENOSYS  no such call, or refused by server.policy    -EFAULT  a pointer the host cannot reach
 *   -ECANCELED  the runtime ended before the call was served */
long k2k_dev_syscall(long number, long a0, long a1, long a2, long a3, long a4, long a5);

/* The same, made once by item 0 of the work-group, between two barriers; every work-item of the
 * group must come here and gets the result. Arguments are item 0's. */
long k2k_dev_group_syscall(long number, long a0, long a1, long a2, long a3, long a4, long a5);

/* A function of the host (k2k_provide()), called by this work-item. `signature` has the types that
 * it was provided with. `buffers`, `values` and `reply` as for the function; each may be null where
 * the signature has none. They may lie in any memory; what the host cannot reach is copied,
 * together at most 8 KiB. 0, or a negative errno: that of the function, or -ENOSYS  no such
 * function       -EPROTO    it has another signature -EINVAL  a mistake in `signature`, or null
 * where something is needed -EFAULT  a buffer that the host cannot reach       -EMSGSIZE  more than
 * can be copied -EPERM   refused by server.policy                  -ECANCELED  the launch or the
 * runtime ended */
long k2k_dev_host_call(const char* name, const char* signature, const k2k_buffer* buffers,
                       const void* values, void* reply);

uint32_t k2k_dev_group_rank(void);  /* Of the work-group in the launch. */
uint32_t k2k_dev_group_count(void); /* Work-groups in the launch. */
uint32_t k2k_dev_item_rank(void);   /* Of the work-item in its group. */
uint32_t k2k_dev_group_size(void);  /* Work-items a group. */
uint64_t k2k_dev_global_rank(void); /* Of the work-item in the launch. */
uint64_t k2k_dev_global_size(void); /* Work-items in the launch. */

/* Every work-item of the group arrives; writes before are visible to the group behind. */
void k2k_dev_barrier(void);

/* Lets other work-items run; for loops that wait for one. */
void k2k_dev_yield(void);

#ifdef __cplusplus
}
#endif

#endif /* K2K_K2K_H */
