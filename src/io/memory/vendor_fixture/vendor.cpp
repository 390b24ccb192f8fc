// A library with the entries of CUDA's driver, cuFile and hipFile that io/ uses, on memory of the
// process: copies are done after several polls of their event, files are read by pread.

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "io/gpu/gpu_file_calls.hpp"
#include "io/memory/vendor_fixture/allocations.hpp"
#include "io/memory/vendor_fixture/control.hpp"

namespace {

using k2k::io::gpu_file::Answer;
using k2k::io::gpu_file::Description;
using k2k::io::vendor::inside;
using k2k::io::vendor::told;

constexpr int invalid_value = 1;
constexpr int not_ready = 600;
constexpr int looks = 3;

struct Stream {
  std::vector<std::function<void()>> queued;
  int looks_left = 0;
};

struct Event {
  Stream* stream = nullptr;
  std::size_t position = 0;
  int looks_left = 0;
};

struct File {
  int descriptor = -1;
};

void run(Stream& stream, std::size_t up_to) {
  for (std::size_t at = 0; at < up_to; ++at) {
    if (stream.queued[at]) stream.queued[at]();
    stream.queued[at] = nullptr;
  }
}

void enqueue(void* stream, std::function<void()> copy) {
  auto& all = *static_cast<Stream*>(stream);
  all.queued.push_back(std::move(copy));
  all.looks_left = looks;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) k2k::io::vendor::Control k2k_vendor;
}

int k2k::io::vendor::told(const char* name) {
  static std::mutex asking;  // Threads of cuFile's engine.
  const std::lock_guard lock(asking);
  if (std::strcmp(name, k2k_vendor.failing) != 0) return 0;
  if (k2k_vendor.after-- > 0) return 0;
  k2k_vendor.failing[0] = '\0';
  return k2k_vendor.code;
}

// A late copy; its memory may have been freed meanwhile.
static void copy(std::byte* to, const std::byte* from, std::size_t bytes, const void* device) {
  if (inside(device, bytes) == nullptr) {
    ++k2k_vendor.wrong_copies;
  } else {
    std::memcpy(to, from, bytes);
  }
}

extern "C" {

#define K2K_VENDOR(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__)
#define K2K_TOLD(name) \
  if (const int code = told(name); code != 0) return code

K2K_VENDOR(cuInit, unsigned) {
  K2K_TOLD("cuInit");
  return 0;
}
K2K_VENDOR(cuGetErrorName, int code, const char** text) {
  *text = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : nullptr;
  return *text == nullptr ? 1 : 0;
}
K2K_VENDOR(cuGetErrorString, int code, const char** text) {
  *text = code == 2 ? "out of memory" : nullptr;
  return *text == nullptr ? 1 : 0;
}
K2K_VENDOR(cuDeviceGetCount, int* count) {
  K2K_TOLD("cuDeviceGetCount");
  *count = k2k_vendor.devices;
  return 0;
}
K2K_VENDOR(cuDeviceGet, int* device, int number) {
  if (number >= k2k_vendor.devices) return 101;
  *device = number;
  return 0;
}
K2K_VENDOR(cuDevicePrimaryCtxRetain, void** context, int) {
  K2K_TOLD("cuDevicePrimaryCtxRetain");
  *context = &k2k_vendor;
  ++k2k_vendor.contexts;
  return 0;
}
K2K_VENDOR(cuDevicePrimaryCtxRelease_v2, int) {
  --k2k_vendor.contexts;
  return 0;
}
K2K_VENDOR(cuCtxPushCurrent_v2, void*) {
  K2K_TOLD("cuCtxPushCurrent_v2");
  ++k2k_vendor.pushed;
  ++k2k_vendor.pushes;
  return 0;
}
K2K_VENDOR(cuCtxPopCurrent_v2, void**) {
  --k2k_vendor.pushed;
  return 0;
}
K2K_VENDOR(cuCtxSetCurrent, void*) {
  ++k2k_vendor.current_set;
  return 0;
}
K2K_VENDOR(cuMemHostAlloc, void** memory, std::size_t bytes, unsigned) {
  K2K_TOLD("cuMemHostAlloc");
  *memory = std::aligned_alloc(4096, bytes);
  ++k2k_vendor.pinned;
  return 0;
}
K2K_VENDOR(cuMemFreeHost, void* memory) {
  std::free(memory);
  --k2k_vendor.pinned;
  return 0;
}
K2K_VENDOR(cuMemcpyHtoDAsync_v2, unsigned long long to, const void* from, std::size_t bytes,
           void* stream) {
  K2K_TOLD("cuMemcpyHtoDAsync_v2");
  const auto* const device = reinterpret_cast<const void*>(to);
  std::byte* const target = inside(device, bytes);
  if (target == nullptr) return invalid_value;
  enqueue(stream, [=] { copy(target, static_cast<const std::byte*>(from), bytes, device); });
  return 0;
}
K2K_VENDOR(cuMemcpyDtoHAsync_v2, void* to, unsigned long long from, std::size_t bytes,
           void* stream) {
  K2K_TOLD("cuMemcpyDtoHAsync_v2");
  const auto* const device = reinterpret_cast<const void*>(from);
  const std::byte* const source = inside(device, bytes);
  if (source == nullptr) return invalid_value;
  enqueue(stream, [=] { copy(static_cast<std::byte*>(to), source, bytes, device); });
  return 0;
}
K2K_VENDOR(cuStreamCreate, void** stream, unsigned) {
  K2K_TOLD("cuStreamCreate");
  *stream = new Stream;
  ++k2k_vendor.streams;
  return 0;
}
K2K_VENDOR(cuStreamDestroy_v2, void* stream) {
  delete static_cast<Stream*>(stream);
  --k2k_vendor.streams;
  return 0;
}
K2K_VENDOR(cuStreamSynchronize, void* stream) {
  auto& all = *static_cast<Stream*>(stream);
  run(all, all.queued.size());
  ++k2k_vendor.synchronized;
  return 0;
}
K2K_VENDOR(cuStreamQuery, void* stream) {
  ++k2k_vendor.queries;
  if (k2k_vendor.context_for_queries && k2k_vendor.pushed == 0) return 201;
  auto& asked = *static_cast<Stream*>(stream);
  if (asked.looks_left-- > 0) return not_ready;
  K2K_TOLD("cuStreamQuery");
  run(asked, asked.queued.size());
  return 0;
}
K2K_VENDOR(cuEventCreate, void** event, unsigned) {
  K2K_TOLD("cuEventCreate");
  *event = new Event;
  ++k2k_vendor.events;
  return 0;
}
K2K_VENDOR(cuEventDestroy_v2, void* event) {
  delete static_cast<Event*>(event);
  --k2k_vendor.events;
  return 0;
}
K2K_VENDOR(cuEventRecord, void* event, void* stream) {
  K2K_TOLD("cuEventRecord");
  auto* const of = static_cast<Stream*>(stream);
  *static_cast<Event*>(event) = {of, of->queued.size(), looks};
  ++k2k_vendor.recorded;
  return 0;
}
K2K_VENDOR(cuEventQuery, void* event) {
  ++k2k_vendor.queries;
  if (k2k_vendor.context_for_queries && k2k_vendor.pushed == 0) return 201;
  auto& asked = *static_cast<Event*>(event);
  if (asked.looks_left-- > 0) return not_ready;
  K2K_TOLD("cuEventQuery");
  run(*asked.stream, asked.position);
  return 0;
}

// cuFile and hipFile: the same functions by two names.
#define K2K_BOTH(returns, name, arguments, passed)                         \
  static returns both##name arguments;                                     \
  __attribute__((visibility("default"))) returns cuFile##name arguments {  \
    return both##name passed;                                              \
  }                                                                        \
  __attribute__((visibility("default"))) returns hipFile##name arguments { \
    return both##name passed;                                              \
  }                                                                        \
  static returns both##name arguments

K2K_BOTH(Answer, DriverOpen, (), ()) {
  if (const int code = told("DriverOpen"); code != 0) return {code, 0};
  ++k2k_vendor.opened;
  ++k2k_vendor.starts;
  return {};
}
// hipFile has no second version.
__attribute__((visibility("default"))) Answer cuFileDriverClose_v2() {
  --k2k_vendor.opened;
  return {};
}
__attribute__((visibility("default"))) Answer hipFileDriverClose() {
  --k2k_vendor.opened;
  return {};
}
K2K_BOTH(Answer, HandleRegister, (void** handle, Description* description), (handle, description)) {
  if (const int code = told("HandleRegister"); code != 0) return {code, 0};
  if (description->type != 1) return {5022, 0};
  *handle = new File{description->descriptor};
  ++k2k_vendor.files;
  ++k2k_vendor.registrations;
  return {};
}
K2K_BOTH(void, HandleDeregister, (void* handle), (handle)) {
  delete static_cast<File*>(handle);
  --k2k_vendor.files;
}
K2K_BOTH(Answer, BufRegister, (const void*, std::size_t, int), ({}, 0, 0)) {
  if (const int code = told("BufRegister"); code != 0) return {code, code == 5011 ? 2 : 0};
  ++k2k_vendor.ranges;
  return {};
}
K2K_BOTH(Answer, BufDeregister, (const void*), ({})) {
  if (const int code = told("BufDeregister"); code != 0) return {code, 0};
  --k2k_vendor.ranges;
  return {};
}
K2K_BOTH(ssize_t, Read, (void* handle, void* base, std::size_t bytes, off_t offset, off_t within),
         (handle, base, bytes, offset, within)) {
  k2k_vendor.last_base = base;
  k2k_vendor.last_offset = within;
  if (const int code = told("Read"); code != 0) {
    if (code > k2k::io::vendor::by_errno) {
      errno = code - k2k::io::vendor::by_errno;
      return -1;
    }
    if (code < 5000) errno = code;  // 4999 leaves errno unchanged.
    if (code == 4999) errno = 0;
    return code < 5000 ? -1 : -code;
  }
  return ::pread(static_cast<File*>(handle)->descriptor, static_cast<char*>(base) + within, bytes,
                 offset);
}
K2K_BOTH(ssize_t, Write,
         (void* handle, const void* base, std::size_t bytes, off_t offset, off_t within),
         (handle, base, bytes, offset, within)) {
  return ::pwrite(static_cast<File*>(handle)->descriptor, static_cast<const char*>(base) + within,
                  bytes, offset);
}

}  // extern "C"
