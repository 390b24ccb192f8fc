// cuInit, cuDevice…, cuCtx…: the one device, and contexts.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "emulator/cuda/driver/state.hpp"
#include "emulator/cuda/ptx/parser.hpp"

namespace k2k::emulator::driver {

namespace {

constexpr int driver_version = 13000;
constexpr std::string_view device_name = "K2K emulated GPU (PTX on the CPU)";
constexpr unsigned char uuid[] = {'k', '2', 'k', '-', 'e', 'm', 'u', 'l',
                                  'a', 't', 'o', 'r', 0,   0,   0,   1};

struct AttributeRow {
  int number;
  int value;
};

// By the numbers of CUdevice_attribute. Others answer 0. The device has compute capability 9.0, but
// no textures; EMULATED_CUDA_PAGEABLE gives it access to pageable memory.
constexpr AttributeRow attribute_rows[] = {
    {1, static_cast<int>(exec::block_lanes_max)},  // MAX_THREADS_PER_BLOCK
    {2, 1024},                                     // MAX_BLOCK_DIM_X
    {3, 1024},                                     // MAX_BLOCK_DIM_Y
    {4, 64},                                       // MAX_BLOCK_DIM_Z
    {5, 2147483647},                               // MAX_GRID_DIM_X
    {6, 65535},                                    // MAX_GRID_DIM_Y
    {7, 65535},                                    // MAX_GRID_DIM_Z
    {8, static_cast<int>(exec::block_shared_bytes)},
    {9, 65536},                                    // TOTAL_CONSTANT_MEMORY
    {10, static_cast<int>(exec::warp_lanes)},      // WARP_SIZE
    {11, 2147483647},                              // MAX_PITCH
    {12, 65536},                                   // MAX_REGISTERS_PER_BLOCK
    {13, 1000000},                                 // CLOCK_RATE: %clock counts nanoseconds
    {14, 512},                                     // TEXTURE_ALIGNMENT
    {15, 1},                                       // GPU_OVERLAP
    {19, 1},                                       // CAN_MAP_HOST_MEMORY
    {31, 1},                                       // CONCURRENT_KERNELS
    {39, static_cast<int>(exec::unit_lanes_max)},  // MAX_THREADS_PER_MULTIPROCESSOR
    {40, 1},                                       // ASYNC_ENGINE_COUNT
    {41, 1},                                       // UNIFIED_ADDRESSING
    {75, static_cast<int>(ptx::target_max / 10)},  // COMPUTE_CAPABILITY_MAJOR
    {76, static_cast<int>(ptx::target_max % 10)},  // COMPUTE_CAPABILITY_MINOR
    {78, 1},                                       // STREAM_PRIORITIES_SUPPORTED
    {81, static_cast<int>(exec::unit_shared_bytes)},
    {82, 65536},  // MAX_REGISTERS_PER_MULTIPROCESSOR
    {83, 1},      // MANAGED_MEMORY
    {89, 1},      // CONCURRENT_MANAGED_ACCESS
    {90, 1},      // COMPUTE_PREEMPTION_SUPPORTED
    {91, 1},      // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    {95, 1},      // COOPERATIVE_LAUNCH
    {97, static_cast<int>(exec::block_shared_bytes_optin)},
    {99, 1},  // HOST_REGISTER_SUPPORTED
    {106, static_cast<int>(exec::unit_blocks_max)},
    {111, 1024},  // RESERVED_SHARED_MEMORY_PER_BLOCK
    {120, 1},     // CLUSTER_LAUNCH
    {129, 1},     // UNIFIED_FUNCTION_POINTERS
};
constexpr int attribute_units = 16;     // MULTIPROCESSOR_COUNT
constexpr int attribute_pageable = 88;  // PAGEABLE_MEMORY_ACCESS
constexpr int attributes_max = 160;

constexpr std::size_t limits[] = {exec::local_bytes_max, 1 << 20, 0};  // Stack, printf, heap.

CUresult ready(CUdevice device) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  return device == 0 ? success : invalid_device;
}

}  // namespace

}  // namespace k2k::emulator::driver

using namespace k2k::emulator;
using namespace k2k::emulator::driver;

K2K_ENTRY_POINT CUresult cuInit(unsigned flags) {
  return flags == 0 ? Driver::get().initialise() : static_cast<CUresult>(invalid_value);
}

K2K_ENTRY_POINT CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return invalid_value;
  *version = driver_version;
  return success;
}

K2K_ENTRY_POINT CUresult cuDeviceGetCount(int* count) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  if (count == nullptr) return invalid_value;
  *count = 1;
  return success;
}

K2K_ENTRY_POINT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (const CUresult answer = ready(ordinal); answer != success) return answer;
  if (device == nullptr) return invalid_value;
  *device = 0;
  return success;
}

K2K_ENTRY_POINT CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  if (name == nullptr || bytes <= 0) return invalid_value;
  const std::size_t length = std::min(device_name.size(), static_cast<std::size_t>(bytes) - 1);
  std::memcpy(name, device_name.data(), length);
  name[length] = '\0';
  return success;
}

K2K_ENTRY_POINT CUresult cuDeviceGetUuid_v2(CUuuid* out, CUdevice device) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  if (out == nullptr) return invalid_value;
  std::memcpy(out->bytes, uuid, sizeof uuid);
  return success;
}
K2K_ENTRY_POINT CUresult cuDeviceGetUuid(CUuuid* out, CUdevice device) {
  return cuDeviceGetUuid_v2(out, device);
}

K2K_ENTRY_POINT CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  if (bytes == nullptr) return invalid_value;
  *bytes = Driver::get().memory_bytes;
  return success;
}

K2K_ENTRY_POINT CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  if (value == nullptr || attribute <= 0 || attribute > attributes_max) return invalid_value;
  const auto* const row =
      std::find_if(std::begin(attribute_rows), std::end(attribute_rows),
                   [&](const AttributeRow& one) { return one.number == attribute; });
  *value = row == std::end(attribute_rows) ? 0 : row->value;
  if (attribute == attribute_pageable) *value = Driver::get().reaches_host_pages ? 1 : 0;
  if (attribute == attribute_units) *value = static_cast<int>(Driver::get().device->units());
  return success;
}

K2K_ENTRY_POINT CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  if (major == nullptr || minor == nullptr) return invalid_value;
  *major = static_cast<int>(ptx::target_max / 10);
  *minor = static_cast<int>(ptx::target_max % 10);
  return success;
}

K2K_ENTRY_POINT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  if (context == nullptr) return invalid_value;
  Context* made = nullptr;
  const CUresult answer = Driver::get().retain_primary(&made);
  *context = handle_of<CUcontext>(made);
  return answer;
}

K2K_ENTRY_POINT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  return Driver::get().release_primary(false);
}

K2K_ENTRY_POINT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  return Driver::get().release_primary(true);
}

K2K_ENTRY_POINT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned) {
  return ready(device);
}

K2K_ENTRY_POINT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  if (flags == nullptr || active == nullptr) return invalid_value;
  *flags = 0;
  *active = Driver::get().primary() != nullptr ? 1 : 0;
  return success;
}

K2K_ENTRY_POINT CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  if (const CUresult answer = ready(device); answer != success) return answer;
  if (context == nullptr) return invalid_value;
  Context* made = nullptr;
  const CUresult answer = Driver::get().make_context(flags, &made);
  if (answer != success) return answer;
  *context = handle_of<CUcontext>(made);
  current_stack().push_back(made);
  return success;
}
// With affinities (v3) or parameters (v4), of which there are none here.
K2K_ENTRY_POINT CUresult cuCtxCreate_v4(CUcontext* context, void* parameters, unsigned flags,
                                        CUdevice device) {
  return parameters != nullptr ? static_cast<CUresult>(not_supported)
                               : cuCtxCreate_v2(context, flags, device);
}

K2K_ENTRY_POINT CUresult cuCtxDestroy_v2(CUcontext context) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  auto* const object = object_of<Context>(context);
  const CUresult answer = Driver::get().end_context(object);
  std::vector<Context*>& stack = current_stack();
  if (answer == success && !stack.empty() && stack.back() == object) stack.pop_back();
  return answer;
}

K2K_ENTRY_POINT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  auto* const object = object_of<Context>(context);
  if (!Driver::get().knows(object)) return invalid_context;
  current_stack().push_back(object);
  return success;
}

K2K_ENTRY_POINT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  std::vector<Context*>& stack = current_stack();
  if (stack.empty()) return invalid_context;
  if (context != nullptr) *context = handle_of<CUcontext>(stack.back());
  stack.pop_back();
  return success;
}

K2K_ENTRY_POINT CUresult cuCtxSetCurrent(CUcontext context) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  auto* const object = object_of<Context>(context);
  if (object != nullptr && !Driver::get().knows(object)) return invalid_context;
  std::vector<Context*>& stack = current_stack();
  if (!stack.empty()) stack.pop_back();
  if (object != nullptr) stack.push_back(object);
  return success;
}

K2K_ENTRY_POINT CUresult cuCtxGetCurrent(CUcontext* context) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  if (context == nullptr) return invalid_value;
  const std::vector<Context*>& stack = current_stack();
  *context = stack.empty() ? nullptr : handle_of<CUcontext>(stack.back());
  return success;
}

K2K_ENTRY_POINT CUresult cuCtxGetDevice(CUdevice* device) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (device == nullptr) return invalid_value;
  *device = 0;
  return success;
}

K2K_ENTRY_POINT CUresult cuCtxGetFlags(unsigned* flags) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (flags == nullptr) return invalid_value;
  *flags = context->flags;
  return success;
}

K2K_ENTRY_POINT CUresult cuCtxGetId(CUcontext handle, unsigned long long* number) {
  auto* context = object_of<Context>(handle);
  if (context == nullptr) {
    if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  }
  if (!Driver::get().knows(context)) return invalid_context;
  if (number == nullptr) return invalid_value;
  *number = context->number;
  return success;
}

K2K_ENTRY_POINT CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  if (version == nullptr) return invalid_value;
  *version = driver_version;
  return success;
}

K2K_ENTRY_POINT CUresult cuCtxSynchronize() {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  std::vector<std::shared_ptr<Moment>> moments;
  {
    const std::lock_guard lock(context->mutex);
    if (context->legacy == nullptr) return context_is_destroyed;
    moments.push_back(context->legacy->last());
    for (const auto& [handle, stream] : context->streams) moments.push_back(stream->last());
  }
  for (const std::shared_ptr<Moment>& moment : moments) finish(*context, moment);
  return context->fault.load();
}

K2K_ENTRY_POINT CUresult cuCtxGetLimit(std::size_t* value, int limit) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (value == nullptr) return invalid_value;
  if (limit < 0 || limit > 2) return unsupported_limit;
  *value = limits[limit];
  return success;
}
// The limits are fixed: a larger one than there is is refused.
K2K_ENTRY_POINT CUresult cuCtxSetLimit(int limit, std::size_t value) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (limit < 0 || limit > 2) return unsupported_limit;
  return value <= limits[limit] ? success : invalid_value;
}

K2K_ENTRY_POINT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return Driver::get().usable();
}
