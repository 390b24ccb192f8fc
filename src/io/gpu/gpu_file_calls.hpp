#pragma once
// The functions of cuFile and hipFile that io/ uses, by the names and numbers of their public
// documentation, because their headers are missing at compile time. `./dev check --only cuda`
// compares them with NVIDIA's own header; no package registry has hipFile's.
//
// Threading: pure functions; load() from anywhere.

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "io/gpu/gpu_file.hpp"

namespace k2k::io::gpu_file {

struct Answer {
  int code = 0;    // 0, or from 5001 on.
  int device = 0;  // CUDA's or HIP's own code, if `code` is device_error.
};

struct Description {
  int type = 1;  // A Linux descriptor.
  union {
    int descriptor;
    void* handle;
  };
  const void* operations = nullptr;  // For file systems in user space.
};

using Handle = void*;

inline constexpr int not_initialized = 5001;  // The first code.
inline constexpr int platform_not_supported = 5007;
inline constexpr int io_not_supported = 5008;
inline constexpr int device_not_supported = 5009;
inline constexpr int driver_error = 5010;
inline constexpr int device_error = 5011;
inline constexpr int pointer_invalid = 5012;
inline constexpr int invalid_mapping_range = 5017;
inline constexpr int invalid_file_type = 5018;
inline constexpr int invalid_open_flag = 5019;
inline constexpr int direct_not_set = 5020;
inline constexpr int invalid_value = 5022;
inline constexpr int memory_already_registered = 5023;
inline constexpr int memory_not_registered = 5024;
inline constexpr int permission_denied = 5025;
inline constexpr int already_open = 5026;
inline constexpr int handle_not_registered = 5027;
inline constexpr int handle_already_registered = 5028;
inline constexpr int device_not_found = 5029;
inline constexpr int internal_error = 5030;
inline constexpr int no_new_descriptor = 5031;
inline constexpr int setup_error = 5033;
inline constexpr int io_disabled = 5034;
inline constexpr int pinning_failed = 5036;

// entry(member, the name after cuFile or hipFile, return type, arguments...)
// clang-format off
#define K2K_IO_GPU_FILE_ENTRIES(entry)                                           \
  entry(open, "DriverOpen", Answer, void)                                        \
  entry(register_file, "HandleRegister", Answer, Handle*, Description*)          \
  entry(forget_file, "HandleDeregister", void, Handle)                           \
  entry(register_memory, "BufRegister", Answer, const void*, std::size_t, int)   \
  entry(forget_memory, "BufDeregister", Answer, const void*)                     \
  entry(read, "Read", ssize_t, Handle, void*, std::size_t, off_t, off_t)         \
  entry(write, "Write", ssize_t, Handle, const void*, std::size_t, off_t, off_t)
// clang-format on

struct Calls {
#define K2K_IO_GPU_FILE_MEMBER(member, name, returns, ...) returns (*member)(__VA_ARGS__) = nullptr;
  K2K_IO_GPU_FILE_ENTRIES(K2K_IO_GPU_FILE_MEMBER)
#undef K2K_IO_GPU_FILE_MEMBER
  // cuFile has two versions of this function: the header's name means the second; the first lacks a
  // part of the shutdown.
  Answer (*close)() = nullptr;

  // The library stays loaded. ENOENT, ENOSYS.
  static Result<Calls> load(GpuFileKind kind, const std::string& library);
};

const char* name_of(GpuFileKind kind);  // "cuFile", "hipFile"
// The errno for a code, and a sentence with the remedy.
int errno_of(int code);
std::string why(GpuFileKind kind, const Answer& answer);
// The same of an answer to the registration of a file, where some codes mean something else.
int errno_of_registration(int code);
std::string why_not_registered(GpuFileKind kind, const Answer& answer);

}  // namespace k2k::io::gpu_file
