#include "backend/cuda/driver.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace k2k::backend::cuda {

namespace {

using gpu::Code;

constexpr int driver_version_min = 13000;  // CUDA 13.0: this backend is compiled with it.

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<Library> open_library() {
  const bool node = ::access("/dev/nvidiactl", F_OK) == 0;
  void* const handle = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return no_cuda(
        "libcuda.so.1 cannot be loaded (" + std::string(::dlerror()) + ")",
        node ? "the driver's module is there, its library is not: install libcuda1, or start "
               "the container with the NVIDIA runtime"
             : "there is no /dev/nvidiactl either: install NVIDIA's driver 580 or later "
               "where there is a GPU");
  }
  Library library;
#define K2K_CUDA_TEXT(name) #name
#define K2K_CUDA_FIND(name)                                                                      \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(handle, K2K_CUDA_TEXT(name))); \
  if (library.name == nullptr) {                                                                 \
    return no_cuda("the driver is too old: it has no " K2K_CUDA_TEXT(name),                      \
                   "install driver 580 or later");                                               \
  }
  K2K_CUDA_ENTRIES(K2K_CUDA_FIND)
#undef K2K_CUDA_FIND
#undef K2K_CUDA_TEXT
  int version = 0;
  library.cuDriverGetVersion(&version);
  const CUresult started = library.cuInit(0);
  if (started != CUDA_SUCCESS) {
    return no_cuda(
        "cuInit: " + library.words(started),
        node ? "see nvidia-smi and dmesg" : "there is no /dev/nvidiactl: load the driver");
  }
  if (version < driver_version_min) {
    return no_cuda("the driver knows CUDA " + version_text(version) + ", kernels need " +
                       version_text(driver_version_min),
                   "install driver 580 or later");
  }
  return library;
}

CUdeviceptr address_of(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }
CUstream stream_of(gpu::Stream stream) { return static_cast<CUstream>(stream); }

constexpr gpu::Names cuda_names{"the CUDA driver", "nvcc", "under compute-sanitizer to see why"};

class CudaDriver final : public gpu::Driver {
 public:
  CudaDriver(const Library& library, CUdevice device, CUcontext context)
      : library_(library), device_(device), context_(context) {}
  ~CudaDriver() override { library_.cuDevicePrimaryCtxRelease(device_); }
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  [[nodiscard]] const gpu::Names& names() const override { return cuda_names; }
  [[nodiscard]] std::string words(Code code) const override {
    return library_.words(static_cast<CUresult>(code));
  }

  Code enter(int&) const override { return library_.cuCtxPushCurrent(context_); }
  void leave(int) const override {
    CUcontext popped = nullptr;
    library_.cuCtxPopCurrent(&popped);
  }
  [[nodiscard]] Code synchronize() const override { return library_.cuCtxSynchronize(); }

  [[nodiscard]] Code allocate(void** memory, std::size_t bytes) const override {
    CUdeviceptr address = 0;
    const CUresult result = library_.cuMemAlloc(&address, bytes);
    *memory = reinterpret_cast<void*>(address);
    return result;
  }
  void free(void* memory) const override { library_.cuMemFree(address_of(memory)); }
  [[nodiscard]] Code pin(void** memory, std::size_t bytes) const override {
    return library_.cuMemHostAlloc(memory, bytes,
                                   CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  }
  void unpin(void* memory) const override { library_.cuMemFreeHost(memory); }

  [[nodiscard]] Code allocate_managed(void** memory, std::size_t bytes) const override {
    CUdeviceptr address = 0;
    const CUresult result = library_.cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL);
    *memory = reinterpret_cast<void*>(address);
    return result;
  }

  [[nodiscard]] Code create_stream(gpu::Stream* stream) const override {
    CUstream created = nullptr;
    const CUresult result = library_.cuStreamCreate(&created, CU_STREAM_NON_BLOCKING);
    *stream = created;
    return result;
  }
  void destroy_stream(gpu::Stream stream) const override {
    library_.cuStreamDestroy(stream_of(stream));
  }
  [[nodiscard]] Code query(gpu::Stream stream) const override {
    return library_.cuStreamQuery(stream_of(stream));
  }
  [[nodiscard]] Code zero(void* memory, std::size_t bytes, gpu::Stream stream) const override {
    return library_.cuMemsetD8Async(address_of(memory), 0, bytes, stream_of(stream));
  }
  [[nodiscard]] Code copy(void* to, const void* from, std::size_t bytes,
                          gpu::Stream stream) const override {
    return library_.cuMemcpyAsync(address_of(to), address_of(from), bytes, stream_of(stream));
  }
  [[nodiscard]] Code launch(gpu::Function function, const LaunchShape& shape, void** parameters,
                            gpu::Stream stream) const override {
    return library_.cuLaunchKernel(static_cast<CUfunction>(function), shape.groups, 1, 1,
                                   shape.group_items, 1, 1, 0, stream_of(stream), parameters,
                                   nullptr);
  }

  [[nodiscard]] Result<gpu::Function> load(const DeviceKernel& kernel,
                                           const std::string& device) const override {
    const char* why = "no reason given";
    auto* const function = static_cast<CUfunction>(kernel.load(&why));
    if (function == nullptr) {
      return Error{EIO, "a kernel of this program cannot be loaded onto " + device + ": " + why +
                            "; compile it for this device (CMAKE_CUDA_ARCHITECTURES)"};
    }
    if (Status done = call(library_.cuFuncLoad(function), "load a kernel"); !done) {
      return done.error();
    }
    return gpu::Function{function};
  }

 private:
  const Library& library_;
  const CUdevice device_;
  const CUcontext context_;
};

}  // namespace

Result<const Library*> Library::load() {
  static const Result<Library> library = open_library();
  if (!library) return library.error();
  return &library.value();
}

std::string Library::words(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return gpu::words_of(result, name, text);
}

Status Library::call(CUresult result, const std::string& what) const {
  if (result == CUDA_SUCCESS) return {};
  return gpu::status_of(result, cuda_names.driver, what, words(result));
}

Error no_cuda(const std::string& why, const std::string& remedy) {
  return gpu::no_device("CUDA", why, remedy);
}

Result<std::unique_ptr<const gpu::Driver>> drive(const Library& library, CUdevice device,
                                                 const std::string& name) {
  CUcontext context = nullptr;
  const Status done =
      library.call(library.cuDevicePrimaryCtxRetain(&context, device), "make a context on " + name);
  if (!done) return done.error();
  return std::unique_ptr<const gpu::Driver>(std::make_unique<CudaDriver>(library, device, context));
}

}  // namespace k2k::backend::cuda
