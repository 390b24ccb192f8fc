#include "backend/hip/driver.hpp"

#include <cerrno>
#include <map>
#include <mutex>
#include <string>

#include "backend/hip/code_objects.hpp"
#include "backend/hip/hip_kernel.hpp"

namespace k2k::backend::hip {

namespace {

constexpr gpu::Names hip_names{"the HIP runtime", "clang for HIP (./dev build --preset hip)",
                               "with AMD_LOG_LEVEL=3 to see why"};

// A code of ours beside HIP's.
constexpr Code another_address = -1;

class HipDriver final : public gpu::Driver {
 public:
  HipDriver(const Library& library, int device) : library_(library), device_(device) {}
  ~HipDriver() override {
    const gpu::Current current(*this);
    for (const auto& [image, module] : modules_) library_.module_unload(module);
  }
  HipDriver(const HipDriver&) = delete;
  HipDriver& operator=(const HipDriver&) = delete;

  [[nodiscard]] const gpu::Names& names() const override { return hip_names; }
  [[nodiscard]] std::string words(Code code) const override {
    if (code != another_address) return library_.words(code);
    return "host and device see pinned memory at different addresses; set backend = \"cpu\"";
  }

  Code enter(int& before) const override {
    if (const Code code = library_.get_device(&before); code != gpu::success) return code;
    return library_.set_device(device_);
  }
  void leave(int before) const override { library_.set_device(before); }
  [[nodiscard]] Code synchronize() const override { return library_.synchronize(); }

  [[nodiscard]] Code allocate(void** memory, std::size_t bytes) const override {
    return library_.allocate(memory, bytes);
  }
  void free(void* memory) const override { library_.free(memory); }
  // Coherent, which is fine-grained: not cached by the device, so a running kernel sees the host's
  // stores.
  [[nodiscard]] Code pin(void** memory, std::size_t bytes) const override {
    const Code code = library_.pin(memory, bytes, host_portable | host_mapped | host_coherent);
    if (code != gpu::success) return code;
    void* address = nullptr;
    const Code mapped = library_.device_address(&address, *memory, 0);
    if (mapped == gpu::success && address == *memory) return gpu::success;
    library_.unpin(*memory);
    return mapped != gpu::success ? mapped : another_address;
  }
  void unpin(void* memory) const override { library_.unpin(memory); }
  [[nodiscard]] Code allocate_managed(void** memory, std::size_t bytes) const override {
    return library_.managed(memory, bytes, attach_global);
  }

  [[nodiscard]] Code create_stream(gpu::Stream* stream) const override {
    return library_.stream_create(stream, stream_non_blocking);
  }
  void destroy_stream(gpu::Stream stream) const override { library_.stream_destroy(stream); }
  [[nodiscard]] Code query(gpu::Stream stream) const override {
    return library_.stream_query(stream);
  }
  [[nodiscard]] Code zero(void* memory, std::size_t bytes, gpu::Stream stream) const override {
    return library_.set_bytes(memory, 0, bytes, stream);
  }
  [[nodiscard]] Code copy(void* to, const void* from, std::size_t bytes,
                          gpu::Stream stream) const override {
    return library_.copy(to, from, bytes, memcpy_default, stream);
  }
  [[nodiscard]] Code launch(gpu::Function function, const LaunchShape& shape, void** parameters,
                            gpu::Stream stream) const override {
    return library_.launch(function, shape.groups, 1, 1, shape.group_items, 1, 1, 0, stream,
                           parameters, nullptr);
  }

  [[nodiscard]] Result<gpu::Function> load(const DeviceKernel& kernel,
                                           const std::string& device) const override {
    const std::lock_guard lock(mutex_);
    if (const auto found = functions_.find(&kernel); found != functions_.end()) {
      return found->second;
    }
    const char* why = "no reason given";
    const auto* const code = static_cast<const HipKernel*>(kernel.load(&why));
    if (code == nullptr) {
      return Error{EIO, "a kernel of this program cannot be loaded onto " + device + ": " + why +
                            "; compile it with " + hip_names.compiler};
    }
    const Result<void*> module = module_of(*code, device);
    if (!module) return module.error();
    gpu::Function function = nullptr;
    if (const Code failed = library_.module_function(&function, module.value(), code->name);
        failed != gpu::success) {
      return Error{EIO, "the code of this program for " + device + " has no kernel '" + code->name +
                            "': " + words(failed) +
                            "; build the program again (./dev build --preset hip)"};
    }
    functions_[&kernel] = function;
    return function;
  }

 private:
  [[nodiscard]] Result<void*> module_of(const HipKernel& code, const std::string& device) const {
    if (const auto found = modules_.find(code.image); found != modules_.end()) {
      return found->second;
    }
    void* module = nullptr;
    const Code failed = library_.module_load(&module, code.image);
    if (failed == gpu::success) return modules_[code.image] = module;
    if (failed == gpu::out_of_memory) return call(failed, "load a kernel").error();
    return Error{EIO, "a kernel of this program cannot be loaded onto " + device + ": " +
                          words(failed) + "; the program has code for " +
                          architectures_of(code.image) +
                          ": rocminfo names the architecture of the device, "
                          "K2K_HIP_ARCHITECTURES those of a build"};
  }

  const Library library_;
  const int device_;
  mutable std::mutex mutex_;  // Of the two below.
  mutable std::map<const void*, void*> modules_;
  mutable std::map<const DeviceKernel*, gpu::Function> functions_;
};

}  // namespace

std::unique_ptr<const gpu::Driver> drive(const Library& library, int device) {
  return std::make_unique<HipDriver>(library, device);
}

}  // namespace k2k::backend::hip
