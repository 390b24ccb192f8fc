// cuModule…, cuLibrary…, cuKernel…, cuFunc…: a library is a module of the current context.

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "emulator/cuda/driver/image.hpp"
#include "emulator/cuda/driver/state.hpp"
#include "emulator/cuda/ptx/refusal.hpp"

namespace k2k::emulator::driver {

namespace {

CUresult answer_for(ptx::Reason reason) {
  switch (reason) {
    case ptx::Reason::newer_version:
      return unsupported_ptx_version;
    case ptx::Reason::other_target:
      return no_binary_for_gpu;
    default:
      return invalid_ptx;
  }
}

CUresult load(CUmodule* handle, const void* image, const std::string& name) {
  Context* context = nullptr;
  Driver& driver = Driver::get();
  if (const CUresult answer = driver.current(&context); answer != success) return answer;
  if (handle == nullptr || image == nullptr) return invalid_value;
  std::string text;
  std::string why;
  if (const CUresult answer = ptx_of(image, text, why); answer != success) {
    driver.log(name + " was not loaded: " + why);
    return answer;
  }
  auto made = std::make_unique<Module>();
  try {
    made->program = std::make_unique<exec::Program>(text, name, driver.memory);
  } catch (const ptx::Refusal& refusal) {
    driver.log(name + ":" + std::to_string(refusal.line) + " was refused: " + refusal.what());
    return answer_for(refusal.reason);
  } catch (const std::bad_alloc&) {
    return out_of_memory;
  }
  for (const std::string& entry : made->program->entry_names()) {
    auto function = std::make_unique<Function>();
    function->module = made.get();
    function->code = made->program->entry(entry);
    made->functions.emplace(entry, std::move(function));
  }
  *handle = handle_of<CUmodule>(made.get());
  const std::lock_guard lock(context->mutex);
  Module* const key = made.get();
  context->modules.emplace(key, std::move(made));
  return success;
}

CUresult load_file(CUmodule* handle, const char* path) {
  if (path == nullptr) return invalid_value;
  std::ifstream file(path, std::ios::binary);
  if (!file) return file_not_found;
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return load(handle, all.c_str(), path);
}

// The module, with the context locked by the caller.
Module* module_of(const Context& context, CUmodule handle) {
  const auto found = context.modules.find(object_of<Module>(handle));
  return found == context.modules.end() ? nullptr : found->first;
}

CUresult find_function(CUfunction* out, CUmodule handle, const char* name) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (out == nullptr || name == nullptr) return invalid_value;
  const std::lock_guard lock(context->mutex);
  Module* const module = module_of(*context, handle);
  if (module == nullptr) return invalid_handle;
  const auto found = module->functions.find(name);
  if (found == module->functions.end()) return not_found;
  *out = handle_of<CUfunction>(found->second.get());
  return success;
}

CUresult find_global(CUdeviceptr* address, std::size_t* bytes, CUmodule handle, const char* name) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (name == nullptr) return invalid_value;
  const std::lock_guard lock(context->mutex);
  Module* const module = module_of(*context, handle);
  if (module == nullptr) return invalid_handle;
  const exec::Program::Place place = module->program->variable(name);
  if (place.address == nullptr) return not_found;
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(place.address);
  if (bytes != nullptr) *bytes = place.bytes;
  return success;
}

CUresult unload(CUmodule handle) {
  Context* context = nullptr;
  Driver& driver = Driver::get();
  if (const CUresult answer = driver.usable(); answer != success) return answer;
  const std::vector<Context*>& stack = current_stack();
  if (stack.empty() || !driver.knows(stack.back())) return invalid_context;
  context = stack.back();
  // What was added to a stream may still launch its kernels.
  std::vector<std::shared_ptr<Moment>> moments;
  {
    const std::lock_guard lock(context->mutex);
    if (context->legacy != nullptr) moments.push_back(context->legacy->last());
    for (const auto& [key, stream] : context->streams) moments.push_back(stream->last());
  }
  for (const std::shared_ptr<Moment>& moment : moments) moment->wait();
  std::unique_ptr<Module> ends;
  const std::lock_guard lock(context->mutex);
  const auto found = context->modules.find(object_of<Module>(handle));
  if (found == context->modules.end()) return invalid_handle;
  ends = std::move(found->second);
  context->modules.erase(found);
  return success;
}

CUresult attribute_of(int* value, int attribute, CUfunction handle) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Function* const function = function_of(*context, handle);
  if (function == nullptr) return invalid_handle;
  if (value == nullptr) return invalid_value;
  const exec::Code& code = *function->code;
  const std::uint32_t bound = code.function->threads_max;
  switch (attribute) {
    case 0:  // MAX_THREADS_PER_BLOCK
      *value = static_cast<int>(bound == 0 ? exec::block_lanes_max
                                           : std::min(bound, exec::block_lanes_max));
      return success;
    case 1:  // SHARED_SIZE_BYTES
      *value = static_cast<int>(function->module->program->shared_bytes());
      return success;
    case 3:  // LOCAL_SIZE_BYTES
      *value = static_cast<int>(code.frame_bytes);
      return success;
    case 4:  // NUM_REGS: of PTX; ptxas would need fewer.
      *value = static_cast<int>(std::min<std::uint32_t>(code.register_count, 255));
      return success;
    case 5:  // PTX_VERSION
    case 6:  // BINARY_VERSION
      *value = static_cast<int>(code.ptx->target);
      return success;
    case 8:  // MAX_DYNAMIC_SHARED_SIZE_BYTES
      *value = function->dynamic_shared_max.load();
      return success;
    case 10:  // CLUSTER_SIZE_MUST_BE_SET
      *value = code.function->needs_cluster && code.function->cluster[0] == 0 ? 1 : 0;
      return success;
    case 11:  // REQUIRED_CLUSTER_WIDTH, HEIGHT, DEPTH
    case 12:
    case 13:
      *value = static_cast<int>(code.function->cluster[static_cast<std::size_t>(attribute - 11)]);
      return success;
    default:
      *value = 0;
      return attribute >= 0 && attribute <= 15 ? success : invalid_value;
  }
}

}  // namespace

Function* function_of(Context& context, CUfunction handle) {
  const std::lock_guard lock(context.mutex);
  for (const auto& [key, module] : context.modules) {
    for (const auto& [name, function] : module->functions) {
      if (function.get() == object_of<Function>(handle)) return function.get();
    }
  }
  return nullptr;
}

}  // namespace k2k::emulator::driver

using namespace k2k::emulator;
using namespace k2k::emulator::driver;

K2K_ENTRY_POINT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return load(module, image, "module");
}
K2K_ENTRY_POINT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, int*,
                                            void**) {
  return load(module, image, "module");
}
K2K_ENTRY_POINT CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load(module, image, "module");
}
K2K_ENTRY_POINT CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return load_file(module, path);
}
K2K_ENTRY_POINT CUresult cuModuleUnload(CUmodule module) { return unload(module); }
K2K_ENTRY_POINT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module,
                                             const char* name) {
  return find_function(function, module, name);
}
K2K_ENTRY_POINT CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes,
                                              CUmodule module, const char* name) {
  return find_global(address, bytes, module, name);
}
K2K_ENTRY_POINT CUresult cuModuleGetLoadingMode(int* mode) {
  if (mode == nullptr) return invalid_value;
  *mode = 1;  // Eager.
  return success;
}

K2K_ENTRY_POINT CUresult cuLibraryLoadData(CUmodule* library, const void* image, int*, void**,
                                           unsigned, int*, void**, unsigned) {
  return load(library, image, "library");
}
K2K_ENTRY_POINT CUresult cuLibraryLoadFromFile(CUmodule* library, const char* path, int*, void**,
                                               unsigned, int*, void**, unsigned) {
  return load_file(library, path);
}
K2K_ENTRY_POINT CUresult cuLibraryUnload(CUmodule library) { return unload(library); }
K2K_ENTRY_POINT CUresult cuLibraryGetKernel(CUfunction* kernel, CUmodule library,
                                            const char* name) {
  return find_function(kernel, library, name);
}
K2K_ENTRY_POINT CUresult cuLibraryGetModule(CUmodule* module, CUmodule library) {
  if (module == nullptr) return invalid_value;
  *module = library;
  return success;
}
K2K_ENTRY_POINT CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes,
                                            CUmodule library, const char* name) {
  return find_global(address, bytes, library, name);
}
K2K_ENTRY_POINT CUresult cuKernelGetFunction(CUfunction* function, CUfunction kernel) {
  if (function == nullptr) return invalid_value;
  *function = kernel;
  return success;
}

K2K_ENTRY_POINT CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  return attribute_of(value, attribute, function);
}
K2K_ENTRY_POINT CUresult cuKernelGetAttribute(int* value, int attribute, CUfunction kernel,
                                              CUdevice device) {
  if (device != 0) return invalid_device;
  return attribute_of(value, attribute, kernel);
}
K2K_ENTRY_POINT CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value) {
  constexpr int dynamic_shared = 8;
  constexpr int carveout = 9;
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Function* const function = function_of(*context, handle);
  if (function == nullptr) return invalid_handle;
  if (attribute == carveout) return success;  // A hint.
  const std::uint64_t fixed = function->module->program->shared_bytes();
  if (attribute != dynamic_shared || value < 0 ||
      static_cast<std::uint64_t>(value) + fixed > exec::block_shared_bytes_optin) {
    return invalid_value;
  }
  function->dynamic_shared_max = value;
  return success;
}
K2K_ENTRY_POINT CUresult cuKernelSetAttribute(int attribute, int value, CUfunction kernel,
                                              CUdevice device) {
  return device == 0 ? cuFuncSetAttribute(kernel, attribute, value)
                     : static_cast<CUresult>(invalid_device);
}
K2K_ENTRY_POINT CUresult cuFuncSetCacheConfig(CUfunction, int) { return Driver::get().usable(); }
K2K_ENTRY_POINT CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Function* const function = function_of(*context, handle);
  if (function == nullptr) return invalid_handle;
  if (module == nullptr) return invalid_value;
  *module = handle_of<CUmodule>(function->module);
  return success;
}
K2K_ENTRY_POINT CUresult cuFuncGetName(const char** name, CUfunction handle) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Function* const function = function_of(*context, handle);
  if (function == nullptr) return invalid_handle;
  if (name == nullptr) return invalid_value;
  *name = function->code->name.c_str();
  return success;
}
K2K_ENTRY_POINT CUresult cuFuncGetParamInfo(CUfunction handle, std::size_t index,
                                            std::size_t* offset, std::size_t* bytes) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Function* const function = function_of(*context, handle);
  if (function == nullptr) return invalid_handle;
  const auto& parameters = function->code->function->parameters;
  if (offset == nullptr || index >= parameters.size()) return invalid_value;
  *offset = parameters[index].offset;
  if (bytes != nullptr) *bytes = parameters[index].bytes;
  return success;
}
// Everything is loaded from the beginning.
K2K_ENTRY_POINT CUresult cuFuncLoad(CUfunction handle) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  return function_of(*context, handle) == nullptr ? invalid_handle : success;
}
K2K_ENTRY_POINT CUresult cuFuncIsLoaded(int* state, CUfunction) {
  if (state == nullptr) return invalid_value;
  *state = 1;
  return success;
}
