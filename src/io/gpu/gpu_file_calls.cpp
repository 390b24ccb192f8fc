#include "io/gpu/gpu_file_calls.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace k2k::io::gpu_file {

namespace {

struct Meaning {
  int first, last;
  int code;
  const char* text;
};

constexpr std::array<Meaning, 20> meanings = {{
    {not_initialized, not_initialized, ENODEV,
     "its kernel driver is not loaded; NVIDIA: modprobe nvidia-fs, or allow_compat_mode in "
     "cufile.json"},
    {platform_not_supported, platform_not_supported, EOPNOTSUPP,
     "this machine is not supported; use another engine"},
    {io_not_supported, io_not_supported, EOPNOTSUPP,
     "it refuses this file: its file system or block device has no way to the GPU; put it on XFS "
     "or "
     "ext4 on a plain NVMe partition"},
    {device_not_supported, device_not_supported, EOPNOTSUPP,
     "this GPU is not supported; use another engine"},
    {driver_error, driver_error, EIO, "its kernel driver refused; see dmesg"},
    {device_error, device_error, EIO, "the GPU's driver refused; see dmesg"},
    {pointer_invalid, invalid_mapping_range, EFAULT,
     "that is no memory of a GPU whose context is current, or it goes beyond what is allocated or "
     "registered"},
    {invalid_file_type, invalid_file_type, EOPNOTSUPP, "only regular files and block devices"},
    {invalid_open_flag, invalid_open_flag, EINVAL,
     "the file is open with a flag that is not supported, such as O_APPEND"},
    {direct_not_set, direct_not_set, EOPNOTSUPP, "open the file with O_DIRECT"},
    {invalid_value, invalid_value, EINVAL, "an argument is out of its range"},
    {memory_already_registered, memory_already_registered, EEXIST, "the memory is registered"},
    {memory_not_registered, memory_not_registered, ENOENT, "the memory is not registered"},
    {permission_denied, permission_denied, EACCES,
     "the file or the driver's device may not be used by this user"},
    {handle_not_registered, handle_not_registered, EBADF, "the file is not registered"},
    {handle_already_registered, handle_already_registered, EEXIST, "the file is registered"},
    {device_not_found, device_not_found, ENODEV, "there is no such GPU; see nvidia-smi, rocm-smi"},
    {no_new_descriptor, no_new_descriptor, EMFILE, "no descriptor is left: ulimit -n"},
    {setup_error, setup_error, ENODEV,
     "it does not start: no driver, or a configuration that cannot be read; see cufile.log"},
    {io_disabled, io_disabled, EOPNOTSUPP, "its configuration forbids this file; see cufile.json"},
}};

constexpr Meaning pinning = {
    pinning_failed, pinning_failed, ENOMEM,
    "the memory cannot be pinned; the GPU's BAR may be too small: register "
    "less"};
constexpr Meaning other = {0, 0, EIO, "see its log"};

const Meaning& meaning_of(int code) {
  if (code == pinning_failed) return pinning;
  const auto* const found = std::ranges::find_if(
      meanings, [&](const Meaning& each) { return code >= each.first && code <= each.last; });
  return found != meanings.end() ? *found : other;
}

// cuFile 1.20 answers so when it finds no attributes of the file's disk: it asks udev, whose
// database is not in every container and virtual machine.
bool is_unknown_disk(int code) { return code == handle_not_registered || code == internal_error; }

std::string sentence(GpuFileKind kind, const Answer& answer, const char* text) {
  const std::string device =
      answer.code == device_error ? fmt::format(", its own {}", answer.device) : "";
  return fmt::format("{} says {}{}: {}", name_of(kind), answer.code, device, text);
}

}  // namespace

Result<Calls> Calls::load(GpuFileKind kind, const std::string& library) {
  const std::string prefix = name_of(kind);
  const bool cufile = kind == GpuFileKind::cufile;
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Error{
        ENOENT,
        fmt::format("{}: {} cannot be loaded ({}); install {}", prefix, library, ::dlerror(),
                    cufile ? "libcufile of the CUDA toolkit, or pip's nvidia-cufile "
                             "and set LD_LIBRARY_PATH"
                           : "ROCm's hipfile")};
  }
  Calls calls;
  const char* missing = nullptr;
#define K2K_IO_GPU_FILE_FIND(member, name, returns, ...)                                  \
  calls.member =                                                                          \
      reinterpret_cast<decltype(calls.member)>(::dlsym(handle, (prefix + name).c_str())); \
  if (calls.member == nullptr) missing = name;
  K2K_IO_GPU_FILE_ENTRIES(K2K_IO_GPU_FILE_FIND)
#undef K2K_IO_GPU_FILE_FIND
  const char* const close = cufile ? "DriverClose_v2" : "DriverClose";
  calls.close = reinterpret_cast<decltype(calls.close)>(::dlsym(handle, (prefix + close).c_str()));
  if (calls.close == nullptr) missing = close;
  if (missing == nullptr) return calls;
  return Error{ENOSYS, fmt::format("{}: {} has no {}{}; install a newer one", prefix, library,
                                   prefix, missing)};
}

const char* name_of(GpuFileKind kind) { return kind == GpuFileKind::cufile ? "cuFile" : "hipFile"; }

int errno_of(int code) { return code == 0 ? 0 : meaning_of(code).code; }

std::string why(GpuFileKind kind, const Answer& answer) {
  return sentence(kind, answer, meaning_of(answer.code).text);
}

int errno_of_registration(int code) { return is_unknown_disk(code) ? EOPNOTSUPP : errno_of(code); }

std::string why_not_registered(GpuFileKind kind, const Answer& answer) {
  if (!is_unknown_disk(answer.code)) return why(kind, answer);
  return sentence(kind, answer,
                  "it does not register this file, often because it finds no attributes of the "
                  "file's disk: run udev, or mount /run/udev into the container; cufile.log has "
                  "the details. CUFILE_EXPERIMENTAL_FS=1 lets it take the file all the same");
}

}  // namespace k2k::io::gpu_file
