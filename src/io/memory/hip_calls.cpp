#include "io/memory/hip_calls.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace k2k::io::hip {

namespace {

using cuda::Calls;
using cuda::Code;
using cuda::Device;
using cuda::Handle;

constexpr const char* sonames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                   "libamdhip64.so"};

// The calls with another form than CUDA's.
struct Own {
  const char* (*error_name)(Code) = nullptr;
  const char* (*error_string)(Code) = nullptr;
  Code (*get_device)(int*) = nullptr;
  Code (*set_device)(int) = nullptr;
};

// Functions of a table carry nothing with them. Written under a lock, before any is called.
Own own;

// The devices that were current before ours, of this thread.
thread_local std::vector<int> before;

Handle handle_of(int device) { return reinterpret_cast<Handle>(std::intptr_t{device} + 1); }
int device_of(Handle handle) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(handle) - 1);
}

Code error_name(Code code, const char** text) {
  *text = own.error_name(code);
  return cuda::success;
}
Code error_string(Code code, const char** text) {
  *text = own.error_string(code);
  return cuda::success;
}
Code retain(Handle* context, Device device) {
  *context = handle_of(device);
  return cuda::success;
}
Code release(Device) { return cuda::success; }
Code push(Handle context) {
  int now = 0;
  if (const Code code = own.get_device(&now); code != cuda::success) return code;
  if (const Code code = own.set_device(device_of(context)); code != cuda::success) return code;
  before.push_back(now);
  return cuda::success;
}
Code pop(Handle*) {
  const int last = before.back();
  before.pop_back();
  return own.set_device(last);
}
Code set(Handle context) { return own.set_device(device_of(context)); }

Error none(const std::string& why, const std::string& mend) {
  return Error{ENODEV, fmt::format("HIP memory: {}; {}", why, mend)};
}

void* open_library(const std::string& library) {
  if (!library.empty()) return ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char* const soname : sonames) {
    if (void* const handle = ::dlopen(soname, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

// Returns false if the library lacks the function; then `missing` is the first such name.
template <class Function>
bool find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
  return function != nullptr;
}

// Returns the first missing name, or "".
std::string find_all(void* library, Calls& calls, Own& ours) {
  std::string missing;
  find(library, "hipInit", calls.init, missing);
  find(library, "hipGetDeviceCount", calls.device_count, missing);
  find(library, "hipDeviceGet", calls.device_get, missing);
  find(library, "hipHostMalloc", calls.host_alloc, missing);
  find(library, "hipHostFree", calls.host_free, missing);
  find(library, "hipMalloc", calls.device_alloc, missing);
  find(library, "hipFree", calls.device_free, missing);
  find(library, "hipMemcpyHtoDAsync", calls.copy_in, missing);
  find(library, "hipMemcpyDtoHAsync", calls.copy_out, missing);
  find(library, "hipStreamCreateWithFlags", calls.stream_create, missing);
  find(library, "hipStreamDestroy", calls.stream_destroy, missing);
  find(library, "hipStreamSynchronize", calls.stream_synchronize, missing);
  find(library, "hipStreamQuery", calls.stream_query, missing);
  find(library, "hipEventCreateWithFlags", calls.event_create, missing);
  find(library, "hipEventDestroy", calls.event_destroy, missing);
  find(library, "hipEventRecord", calls.event_record, missing);
  find(library, "hipEventQuery", calls.event_query, missing);
  find(library, "hipGetErrorName", ours.error_name, missing);
  find(library, "hipGetErrorString", ours.error_string, missing);
  find(library, "hipGetDevice", ours.get_device, missing);
  find(library, "hipSetDevice", ours.set_device, missing);
  return missing;
}

std::mutex loading;

// In a child the parent's thread that loads is not.
void renew_loading() { new (&loading) std::mutex; }
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, renew_loading);

}  // namespace

Result<Calls> load(const std::string& library) {
  const std::lock_guard lock(loading);
  void* const handle = open_library(library);
  if (handle == nullptr) {
    return none(fmt::format("{} cannot be loaded ({})", library.empty() ? sonames[3] : library,
                            ::dlerror()),
                "install ROCm's runtime where there is a GPU");
  }
  Calls calls;
  Own found;
  const std::string missing = find_all(handle, calls, found);
  if (!missing.empty()) return none("the library has no " + missing, "install a newer ROCm");
  if (own.set_device != nullptr && own.set_device != found.set_device) {
    return none("another library of HIP's is in use", "name one library in a process");
  }
  own = found;
  calls.error_name = error_name;
  calls.error_string = error_string;
  calls.context_retain = retain;
  calls.context_release = release;
  calls.context_push = push;
  calls.context_pop = pop;
  calls.context_set = set;
  calls.memory = "hip";
  calls.vendor = "HIP";
  calls.tool = "rocm-smi";
  if (const Code code = calls.init(0); code != cuda::success) {
    return none("the runtime does not start: " + calls.words(code), "see rocm-smi and dmesg");
  }
  int devices = 0;
  if (const Code code = calls.device_count(&devices); code != cuda::success || devices == 0) {
    return none(code != cuda::success ? calls.words(code) : "the runtime shows no device",
                "see rocm-smi and HIP_VISIBLE_DEVICES");
  }
  return calls;
}

}  // namespace k2k::io::hip
