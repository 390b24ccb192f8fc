// libcudart.so.13: what nvcc's host code and common programs call of CUDA's run-time library, on
// the driver interface. NVIDIA's own library refuses every driver but NVIDIA's; this one works with
// either. It has the legacy default stream alone, and no textures, graphs or peers: a program that
// calls more does not start (the dynamic linker names the function).
//
// Device code registers itself before main(); it is loaded into the primary context at the first
// use of one of its kernels. Error numbers are the driver's: since CUDA 10.1 they agree.
//
// Threading: every function from any thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/cuda/driver/abi.hpp"

extern "C" {
CUresult cuInit(unsigned);
CUresult cuDriverGetVersion(int*);
CUresult cuDeviceGetCount(int*);
CUresult cuDeviceGetAttribute(int*, int, CUdevice);
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice);
CUresult cuCtxGetCurrent(CUcontext*);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxGetId(CUcontext, unsigned long long*);
CUresult cuCtxSynchronize();
CUresult cuGetErrorName(CUresult, const char**);
CUresult cuGetErrorString(CUresult, const char**);
CUresult cuModuleLoadData(CUmodule*, const void*);
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*);
CUresult cuModuleGetGlobal_v2(CUdeviceptr*, std::size_t*, CUmodule, const char*);
CUresult cuFuncSetAttribute(CUfunction, int, int);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void**, void**);
CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, unsigned, CUstream, void**);
CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**);
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemAllocManaged(CUdeviceptr*, std::size_t, unsigned);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemHostAlloc(void**, std::size_t, unsigned);
CUresult cuMemFreeHost(void*);
CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, std::size_t);
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, std::size_t);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, std::size_t, CUstream);
CUresult cuStreamCreate(CUstream*, unsigned);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamQuery(CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuEventCreate(CUevent*, unsigned);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventQuery(CUevent);
CUresult cuEventSynchronize(CUevent);
CUresult cuEventElapsedTime_v2(float*, CUevent, CUevent);
}

namespace k2k::emulator::runtime {

namespace {

constexpr int runtime_version = 13000;
constexpr CUresult invalid_device_function = 98;

struct Dim3 {
  unsigned x, y, z;
};

// One fat binary of the program, and its module once it is loaded.
struct Image {
  const void* data = nullptr;
  CUmodule module = nullptr;
  unsigned long long context = 0;  // In which the module was loaded: a reset makes another.
};
struct Symbol {
  Image* image = nullptr;
  std::string name;
};
struct Configuration {
  Dim3 blocks;
  Dim3 threads;
  std::size_t shared_bytes;
  CUstream stream;
};

struct Registry {
  std::mutex mutex;
  std::map<const void*, Symbol> kernels;    // By the address of the host's stub.
  std::map<const void*, Symbol> variables;  // By the address of the host's shadow.
};
Registry& registry() {
  static Registry* const all = new Registry;  // Programs register before main() and after it.
  return *all;
}

thread_local CUresult last_error = 0;
std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> stack;
  return stack;
}

CUresult noted(CUresult answer) {
  if (answer != driver::success && answer != driver::not_ready) last_error = answer;
  return answer;
}

// The primary context is current, if no other one is.
CUresult begin() {
  static const CUresult started = cuInit(0);
  if (started != driver::success) return started;
  CUcontext context = nullptr;
  if (const CUresult answer = cuCtxGetCurrent(&context); answer != driver::success) return answer;
  if (context != nullptr) return driver::success;
  if (const CUresult answer = cuDevicePrimaryCtxRetain(&context, 0); answer != driver::success) {
    return answer;
  }
  return cuCtxSetCurrent(context);
}

CUresult module_of(Image& image, CUmodule* module) {
  unsigned long long context = 0;
  if (const CUresult answer = cuCtxGetId(nullptr, &context); answer != driver::success) {
    return answer;
  }
  if (image.module == nullptr || image.context != context) {
    const CUresult answer = cuModuleLoadData(&image.module, image.data);
    if (answer != driver::success) return answer;
    image.context = context;
  }
  *module = image.module;
  return driver::success;
}

CUresult function_of(CUfunction* function, const void* stub) {
  if (const CUresult answer = begin(); answer != driver::success) return answer;
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().kernels.find(stub);
  if (found == registry().kernels.end()) return invalid_device_function;
  CUmodule module = nullptr;
  if (const CUresult answer = module_of(*found->second.image, &module); answer != driver::success) {
    return answer;
  }
  return cuModuleGetFunction(function, module, found->second.name.c_str());
}

CUresult launch(const void* stub, Dim3 blocks, Dim3 threads, void** arguments,
                std::size_t shared_bytes, CUstream stream) {
  CUfunction function = nullptr;
  if (const CUresult answer = function_of(&function, stub); answer != driver::success) {
    return answer;
  }
  return cuLaunchKernel(function, blocks.x, blocks.y, blocks.z, threads.x, threads.y, threads.z,
                        static_cast<unsigned>(shared_bytes), stream, arguments, nullptr);
}

struct LaunchConfig {
  Dim3 blocks, threads;
  std::size_t shared_bytes;
  CUstream stream;
  CUlaunchAttribute* attributes;
  unsigned attribute_count;
};

template <class Call>
CUresult with_context(Call&& call) {
  const CUresult answer = begin();
  return noted(answer != driver::success ? answer : call());
}

CUdeviceptr number_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace

}  // namespace k2k::emulator::runtime

using namespace k2k::emulator::runtime;

// --- What nvcc's host code calls.

K2K_ENTRY_POINT void** __cudaRegisterFatBinary(void* data) {
  auto* const image = new Image;
  image->data = data;
  return reinterpret_cast<void**>(image);
}
K2K_ENTRY_POINT void __cudaRegisterFatBinaryEnd(void**) {}
K2K_ENTRY_POINT void __cudaUnregisterFatBinary(void**) {}  // At the end of the process.
K2K_ENTRY_POINT char __cudaInitModule(void**) { return 1; }
K2K_ENTRY_POINT void __cudaRegisterFunction(void** image, const char* stub, char*, const char* name,
                                            int, void*, void*, void*, void*, int*) {
  const std::lock_guard lock(registry().mutex);
  registry().kernels[stub] = {reinterpret_cast<Image*>(image), name};
}
K2K_ENTRY_POINT void __cudaRegisterVar(void** image, char* shadow, char*, const char* name, int,
                                       std::size_t, int, int) {
  const std::lock_guard lock(registry().mutex);
  registry().variables[shadow] = {reinterpret_cast<Image*>(image), name};
}
K2K_ENTRY_POINT unsigned __cudaPushCallConfiguration(Dim3 blocks, Dim3 threads,
                                                     std::size_t shared_bytes, CUstream stream) {
  configurations().push_back({blocks, threads, shared_bytes, stream});
  return 0;
}
K2K_ENTRY_POINT CUresult __cudaPopCallConfiguration(Dim3* blocks, Dim3* threads,
                                                    std::size_t* shared_bytes, void* stream) {
  if (configurations().empty()) return invalid_device_function;
  const Configuration top = configurations().back();
  configurations().pop_back();
  *blocks = top.blocks;
  *threads = top.threads;
  *shared_bytes = top.shared_bytes;
  *static_cast<CUstream*>(stream) = top.stream;
  return k2k::emulator::driver::success;
}
// A handle is the stub itself: it is looked up when it is launched.
K2K_ENTRY_POINT CUresult __cudaGetKernel(const void** kernel, const void* stub) {
  *kernel = stub;
  return k2k::emulator::driver::success;
}
K2K_ENTRY_POINT CUresult __cudaLaunchKernel(const void* kernel, Dim3 blocks, Dim3 threads,
                                            void** arguments, std::size_t shared_bytes,
                                            CUstream stream) {
  return noted(launch(kernel, blocks, threads, arguments, shared_bytes, stream));
}

// --- What programs call.

K2K_ENTRY_POINT CUresult cudaLaunchKernel(const void* stub, Dim3 blocks, Dim3 threads,
                                          void** arguments, std::size_t shared_bytes,
                                          CUstream stream) {
  return noted(launch(stub, blocks, threads, arguments, shared_bytes, stream));
}
K2K_ENTRY_POINT CUresult cudaLaunchCooperativeKernel(const void* stub, Dim3 blocks, Dim3 threads,
                                                     void** arguments, std::size_t shared_bytes,
                                                     CUstream stream) {
  CUfunction function = nullptr;
  const CUresult answer = function_of(&function, stub);
  if (answer != k2k::emulator::driver::success) return noted(answer);
  return noted(cuLaunchCooperativeKernel(function, blocks.x, blocks.y, blocks.z, threads.x,
                                         threads.y, threads.z, static_cast<unsigned>(shared_bytes),
                                         stream, arguments));
}
// Its attributes have the numbers and values of the driver's.
K2K_ENTRY_POINT CUresult cudaLaunchKernelExC(const LaunchConfig* config, const void* stub,
                                             void** arguments) {
  if (config == nullptr) return noted(k2k::emulator::driver::invalid_value);
  CUfunction function = nullptr;
  const CUresult answer = function_of(&function, stub);
  if (answer != k2k::emulator::driver::success) return noted(answer);
  const Dim3& blocks = config->blocks;
  const Dim3& threads = config->threads;
  const CUlaunchConfig same{{blocks.x, blocks.y, blocks.z},
                            {threads.x, threads.y, threads.z},
                            static_cast<unsigned>(config->shared_bytes),
                            config->stream,
                            config->attributes,
                            config->attribute_count};
  return noted(cuLaunchKernelEx(&same, function, arguments, nullptr));
}
K2K_ENTRY_POINT CUresult cudaGetFuncBySymbol(CUfunction* function, const void* stub) {
  return noted(function_of(function, stub));
}
K2K_ENTRY_POINT CUresult cudaFuncSetAttribute(const void* stub, int attribute, int value) {
  CUfunction function = nullptr;
  const CUresult answer = function_of(&function, stub);
  return noted(answer != k2k::emulator::driver::success
                   ? answer
                   : cuFuncSetAttribute(function, attribute, value));
}
K2K_ENTRY_POINT CUresult cudaGetSymbolAddress(void** address, const void* shadow) {
  return with_context([&]() -> CUresult {
    const std::lock_guard lock(registry().mutex);
    const auto found = registry().variables.find(shadow);
    if (found == registry().variables.end()) return k2k::emulator::driver::invalid_value;
    CUmodule module = nullptr;
    const CUresult answer = module_of(*found->second.image, &module);
    if (answer != k2k::emulator::driver::success) return answer;
    return cuModuleGetGlobal_v2(reinterpret_cast<CUdeviceptr*>(address), nullptr, module,
                                found->second.name.c_str());
  });
}

K2K_ENTRY_POINT const char* cudaGetErrorString(CUresult code) {
  const char* text = nullptr;
  if (code == invalid_device_function) return "no kernel of the program has this address";
  cuGetErrorString(code, &text);
  return text == nullptr ? "unknown error" : text;
}
K2K_ENTRY_POINT const char* cudaGetErrorName(CUresult code) {
  const char* name = nullptr;
  if (code == invalid_device_function) return "cudaErrorInvalidDeviceFunction";
  cuGetErrorName(code, &name);
  return name == nullptr ? "cudaErrorUnknown" : name;
}
K2K_ENTRY_POINT CUresult cudaGetLastError() {
  const CUresult answer = last_error;
  last_error = k2k::emulator::driver::success;
  return answer;
}
K2K_ENTRY_POINT CUresult cudaPeekAtLastError() { return last_error; }

K2K_ENTRY_POINT CUresult cudaRuntimeGetVersion(int* version) {
  *version = runtime_version;
  return k2k::emulator::driver::success;
}
K2K_ENTRY_POINT CUresult cudaDriverGetVersion(int* version) { return cuDriverGetVersion(version); }
K2K_ENTRY_POINT CUresult cudaGetDeviceCount(int* count) {
  return with_context([&] { return cuDeviceGetCount(count); });
}
K2K_ENTRY_POINT CUresult cudaGetDevice(int* device) {
  *device = 0;
  return with_context([] { return k2k::emulator::driver::success; });
}
K2K_ENTRY_POINT CUresult cudaSetDevice(int device) {
  return with_context([&]() -> CUresult {
    return device == 0 ? k2k::emulator::driver::success : k2k::emulator::driver::invalid_device;
  });
}
K2K_ENTRY_POINT CUresult cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return with_context([&] { return cuDeviceGetAttribute(value, attribute, device); });
}
K2K_ENTRY_POINT CUresult cudaDeviceSynchronize() {
  return with_context([] { return cuCtxSynchronize(); });
}
K2K_ENTRY_POINT CUresult cudaDeviceReset() {
  const CUresult answer = with_context([] { return cuDevicePrimaryCtxReset_v2(0); });
  cuCtxSetCurrent(nullptr);
  return answer;
}

K2K_ENTRY_POINT CUresult cudaMalloc(void** address, std::size_t bytes) {
  return with_context(
      [&] { return cuMemAlloc_v2(reinterpret_cast<CUdeviceptr*>(address), bytes); });
}
K2K_ENTRY_POINT CUresult cudaMallocManaged(void** address, std::size_t bytes, unsigned flags) {
  return with_context(
      [&] { return cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(address), bytes, flags); });
}
K2K_ENTRY_POINT CUresult cudaFree(void* address) {
  return with_context([&] { return cuMemFree_v2(number_of(address)); });
}
K2K_ENTRY_POINT CUresult cudaHostAlloc(void** address, std::size_t bytes, unsigned flags) {
  return with_context([&] { return cuMemHostAlloc(address, bytes, flags); });
}
K2K_ENTRY_POINT CUresult cudaMallocHost(void** address, std::size_t bytes) {
  return cudaHostAlloc(address, bytes, 0);
}
K2K_ENTRY_POINT CUresult cudaFreeHost(void* address) {
  return with_context([&] { return cuMemFreeHost(address); });
}
K2K_ENTRY_POINT CUresult cudaMemcpy(void* to, const void* from, std::size_t bytes, int) {
  return with_context([&] { return cuMemcpy(number_of(to), number_of(from), bytes); });
}
K2K_ENTRY_POINT CUresult cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int,
                                         CUstream stream) {
  return with_context([&] { return cuMemcpyAsync(number_of(to), number_of(from), bytes, stream); });
}
K2K_ENTRY_POINT CUresult cudaMemset(void* to, int value, std::size_t bytes) {
  return with_context(
      [&] { return cuMemsetD8_v2(number_of(to), static_cast<unsigned char>(value), bytes); });
}
K2K_ENTRY_POINT CUresult cudaMemsetAsync(void* to, int value, std::size_t bytes, CUstream stream) {
  return with_context([&] {
    return cuMemsetD8Async(number_of(to), static_cast<unsigned char>(value), bytes, stream);
  });
}

K2K_ENTRY_POINT CUresult cudaStreamCreateWithFlags(CUstream* stream, unsigned flags) {
  return with_context([&] { return cuStreamCreate(stream, flags); });
}
K2K_ENTRY_POINT CUresult cudaStreamCreate(CUstream* stream) {
  return cudaStreamCreateWithFlags(stream, 0);
}
K2K_ENTRY_POINT CUresult cudaStreamDestroy(CUstream stream) {
  return with_context([&] { return cuStreamDestroy_v2(stream); });
}
K2K_ENTRY_POINT CUresult cudaStreamSynchronize(CUstream stream) {
  return with_context([&] { return cuStreamSynchronize(stream); });
}
K2K_ENTRY_POINT CUresult cudaStreamQuery(CUstream stream) {
  return with_context([&] { return cuStreamQuery(stream); });
}
K2K_ENTRY_POINT CUresult cudaStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return with_context([&] { return cuStreamWaitEvent(stream, event, flags); });
}
K2K_ENTRY_POINT CUresult cudaEventCreateWithFlags(CUevent* event, unsigned flags) {
  return with_context([&] { return cuEventCreate(event, flags); });
}
K2K_ENTRY_POINT CUresult cudaEventCreate(CUevent* event) {
  return cudaEventCreateWithFlags(event, 0);
}
K2K_ENTRY_POINT CUresult cudaEventDestroy(CUevent event) {
  return with_context([&] { return cuEventDestroy_v2(event); });
}
K2K_ENTRY_POINT CUresult cudaEventRecord(CUevent event, CUstream stream) {
  return with_context([&] { return cuEventRecord(event, stream); });
}
K2K_ENTRY_POINT CUresult cudaEventQuery(CUevent event) {
  return with_context([&] { return cuEventQuery(event); });
}
K2K_ENTRY_POINT CUresult cudaEventSynchronize(CUevent event) {
  return with_context([&] { return cuEventSynchronize(event); });
}
K2K_ENTRY_POINT CUresult cudaEventElapsedTime(float* milliseconds, CUevent first, CUevent last) {
  return with_context([&] { return cuEventElapsedTime_v2(milliseconds, first, last); });
}
