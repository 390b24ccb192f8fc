// A library with the entries of HIP's runtime that the backend uses. It reads code objects as HIP's
// runtime does, but cannot execute them: a stand-in of the test acts as the kernel. Streams work on
// a thread each, in order. Device memory cannot be accessed by the host at the device's address.
//
// FAKE_HIP_ARCHITECTURE sets the device's architecture, for programs.

#include <sys/mman.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/hip/fake_runtime/code_object.hpp"
#include "backend/hip/fake_runtime/settings.hpp"

extern "C" {
__attribute__((visibility("default"))) k2k::backend::hip::fake::Control k2k_hip_control;
}

namespace {

using namespace k2k::backend::hip::fake;

constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int invalid_device = 101;
constexpr int invalid_image = 200;
constexpr int no_binary_for_gpu = 209;
constexpr int not_found = 500;
constexpr int not_ready = 600;
constexpr int illegal_address = 700;
constexpr int launch_failure = 719;

// The code that the test wants of this call, or 0.
int told(const char* name) {
  static std::mutex asking;
  const std::lock_guard lock(asking);
  Control& control = k2k_hip_control;
  if (std::strcmp(name, control.failing) != 0) return 0;
  if (control.after-- > 0) return 0;
  control.failing[0] = '\0';
  return control.code;
}

// --- Device memory: one file mapped twice, at the device's address without access.

struct Memory {
  std::byte* alias = nullptr;
  std::size_t bytes = 0;
};

std::mutex memory_mutex;
std::map<void*, std::size_t>& managed_memories() {
  static auto* const all = new std::map<void*, std::size_t>;
  return *all;
}
std::map<std::uintptr_t, Memory>& memories() {
  static auto* const all = new std::map<std::uintptr_t, Memory>;
  return *all;
}

// The host's address of all these bytes. Other addresses are host memory; null: beyond device
// memory.
std::byte* reach(const void* address, std::size_t bytes) {
  const std::lock_guard lock(memory_mutex);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto next = memories().upper_bound(at);
  if (next != memories().begin()) {
    const auto& [begin, memory] = *std::prev(next);
    const std::uintptr_t within = at - begin;
    if (within < memory.bytes) {
      return bytes <= memory.bytes - within ? memory.alias + within : nullptr;
    }
  }
  return static_cast<std::byte*>(const_cast<void*>(address));
}

// --- Streams.

class Stream {
 public:
  Stream() : worker_([this] { work(); }) {}
  ~Stream() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void add(std::function<int()> piece) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
    ++k2k_hip_control.queued;
    changed_.notify_all();
  }
  int query() {
    const std::lock_guard lock(mutex_);
    if (failed_ != 0) return failed_;
    return pieces_.empty() ? 0 : not_ready;
  }
  int wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pieces_.empty(); });
    return failed_;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || !pieces_.empty(); });
      if (pieces_.empty()) return;
      const std::function<int()> piece = pieces_.front();
      const bool runs = failed_ == 0;  // After a failure nothing runs any more.
      lock.unlock();
      const int code = runs ? piece() : 0;
      lock.lock();
      if (code != 0) failed_ = code;
      pieces_.pop_front();
      --k2k_hip_control.queued;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<int()>> pieces_;
  bool ends_ = false;
  int failed_ = 0;
  std::thread worker_;
};

std::mutex streams_mutex;
std::vector<Stream*> streams;

// --- Modules.

struct Module {
  std::vector<CodeKernel> kernels;
};

// Not by __tls_get_addr: LeakSanitizer takes what lies before such a block for its size.
[[gnu::tls_model("initial-exec")]] thread_local int current = programs_device;

}  // namespace

extern "C" {

#define K2K_FAKE(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__)
#define K2K_TOLD(name) \
  if (const int code = told(name); code != 0) return code
// Memory, streams and modules are of a device.
#define K2K_CURRENT() \
  if (current != 0) return invalid_device

__attribute__((visibility("default"))) void* k2k_hip_reach(const void* address) {
  return reach(address, 1);
}

__attribute__((visibility("default"))) const char* hipGetErrorName(int code) {
  switch (code) {
    case invalid_value:
      return "hipErrorInvalidValue";
    case out_of_memory:
      return "hipErrorOutOfMemory";
    case 100:
      return "hipErrorNoDevice";
    case invalid_image:
      return "hipErrorInvalidImage";
    case no_binary_for_gpu:
      return "hipErrorNoBinaryForGpu";
    case not_found:
      return "hipErrorNotFound";
    case illegal_address:
      return "hipErrorIllegalAddress";
    case launch_failure:
      return "hipErrorLaunchFailure";
    default:
      return nullptr;
  }
}
__attribute__((visibility("default"))) const char* hipGetErrorString(int code) {
  switch (code) {
    case invalid_value:
      return "invalid argument";
    case out_of_memory:
      return "out of memory";
    case 100:
      return "no ROCm-capable device is detected";
    case invalid_image:
      return "device kernel image is invalid";
    case no_binary_for_gpu:
      return "no kernel image is available for execution on the device";
    case not_found:
      return "named symbol not found";
    case illegal_address:
      return "an illegal memory access was encountered";
    case launch_failure:
      return "unspecified launch failure";
    default:
      return nullptr;
  }
}

K2K_FAKE(hipInit, unsigned) {
  K2K_TOLD("hipInit");
  if (const char* const architecture = std::getenv("FAKE_HIP_ARCHITECTURE")) {
    std::strncpy(k2k_hip_control.architecture, architecture,
                 sizeof(k2k_hip_control.architecture) - 1);
  }
  return 0;
}
K2K_FAKE(hipRuntimeGetVersion, int* version) {
  K2K_TOLD("hipRuntimeGetVersion");
  *version = k2k_hip_control.version;
  return 0;
}
K2K_FAKE(hipGetDeviceCount, int* count) {
  K2K_TOLD("hipGetDeviceCount");
  *count = k2k_hip_control.devices;
  return 0;
}
K2K_FAKE(hipDeviceGetName, char* name, int bytes, int) {
  K2K_TOLD("hipDeviceGetName");
  const std::string text = std::string("Fake ") + k2k_hip_control.architecture;
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(bytes));
  return 0;
}
K2K_FAKE(hipDeviceGetAttribute, int* value, int which, int) {
  const Control& control = k2k_hip_control;
  switch (which) {
    case 5:
      return *value = 1'700'000, 0;
    case 9:
      return *value = control.managed ? 1 : 0, 0;
    case 23:
      return *value = 9, 0;
    case 57:
      return *value = control.items_per_unit, 0;
    case 61:
      return *value = 0, 0;
    case 63:
      return *value = control.compute_units, 0;
    case 65:
      return *value = control.pageable ? 1 : 0, 0;
    case 74:
      return *value = 65'536, 0;
    case 87:
      return *value = control.wave_lanes, 0;
    case 10011:
      return *value = 1, 0;
    default:
      return *value = -1, invalid_value;
  }
}
K2K_FAKE(hipDeviceTotalMem, std::size_t* bytes, int) {
  *bytes = std::size_t{64} << 30;
  return 0;
}
K2K_FAKE(hipGetDevice, int* device) {
  K2K_TOLD("hipGetDevice");
  *device = current;
  return 0;
}
K2K_FAKE(hipSetDevice, int device) {
  K2K_TOLD("hipSetDevice");
  if (current == programs_device && device != programs_device) ++k2k_hip_control.entered;
  if (current != programs_device && device == programs_device) --k2k_hip_control.entered;
  current = device;
  return 0;
}
K2K_FAKE(hipDeviceSynchronize) {
  K2K_TOLD("hipDeviceSynchronize");
  K2K_CURRENT();
  const std::lock_guard lock(streams_mutex);
  int failed = 0;
  for (Stream* const stream : streams) {
    if (const int code = stream->wait(); code != 0) failed = code;
  }
  return failed;
}

K2K_FAKE(hipMalloc, void** memory, std::size_t bytes) {
  K2K_TOLD("hipMalloc");
  K2K_CURRENT();
  const int file = ::memfd_create("device memory", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return out_of_memory;
  void* const device = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
  void* const alias = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (device == MAP_FAILED || alias == MAP_FAILED) return out_of_memory;
  std::memset(alias, 0xa5, bytes);  // Of whoever had it before.
  const std::lock_guard lock(memory_mutex);
  memories()[reinterpret_cast<std::uintptr_t>(device)] = {static_cast<std::byte*>(alias), bytes};
  *memory = device;
  ++k2k_hip_control.allocations;
  return 0;
}
// The host reads and writes it by its address; hipFree() takes it.
K2K_FAKE(hipMallocManaged, void** memory, std::size_t bytes, unsigned flags) {
  K2K_TOLD("hipMallocManaged");
  K2K_CURRENT();
  if (flags != 1) return invalid_value;  // hipMemAttachGlobal
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return out_of_memory;
  std::memset(mapped, 0xa5, bytes);
  const std::lock_guard lock(memory_mutex);
  managed_memories()[mapped] = bytes;
  *memory = mapped;
  ++k2k_hip_control.allocations;
  return 0;
}
K2K_FAKE(hipFree, void* memory) {
  K2K_CURRENT();
  const std::lock_guard lock(memory_mutex);
  if (const auto managed = managed_memories().find(memory); managed != managed_memories().end()) {
    ::munmap(memory, managed->second);
    managed_memories().erase(managed);
    --k2k_hip_control.allocations;
    return 0;
  }
  const auto found = memories().find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == memories().end()) return invalid_value;
  ::munmap(memory, found->second.bytes);
  ::munmap(found->second.alias, found->second.bytes);
  memories().erase(found);
  --k2k_hip_control.allocations;
  return 0;
}
K2K_FAKE(hipHostMalloc, void** memory, std::size_t bytes, unsigned flags) {
  K2K_TOLD("hipHostMalloc");
  K2K_CURRENT();
  constexpr std::size_t page = 4096;
  *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  std::memset(*memory, 0xa5, bytes);
  k2k_hip_control.pin_flags = flags;
  ++k2k_hip_control.pinned;
  return 0;
}
K2K_FAKE(hipHostFree, void* memory) {
  K2K_CURRENT();
  std::free(memory);
  --k2k_hip_control.pinned;
  return 0;
}
K2K_FAKE(hipHostGetDevicePointer, void** address, void* memory, unsigned) {
  K2K_TOLD("hipHostGetDevicePointer");
  *address = static_cast<std::byte*>(memory) + (k2k_hip_control.other_addresses ? 4096 : 0);
  return 0;
}

K2K_FAKE(hipStreamCreateWithFlags, void** stream, unsigned flags) {
  K2K_TOLD("hipStreamCreateWithFlags");
  K2K_CURRENT();
  if (flags != 1) return invalid_value;  // A blocking stream waits for the program's own work.
  const std::lock_guard lock(streams_mutex);
  streams.push_back(new Stream);
  *stream = streams.back();
  ++k2k_hip_control.streams;
  return 0;
}
K2K_FAKE(hipStreamDestroy, void* stream) {
  K2K_CURRENT();
  const std::lock_guard lock(streams_mutex);
  std::erase(streams, static_cast<Stream*>(stream));
  delete static_cast<Stream*>(stream);
  --k2k_hip_control.streams;
  return 0;
}
K2K_FAKE(hipStreamQuery, void* stream) {
  K2K_TOLD("hipStreamQuery");
  K2K_CURRENT();
  return static_cast<Stream*>(stream)->query();
}
K2K_FAKE(hipMemsetD8Async, void* memory, unsigned char value, std::size_t bytes, void* stream) {
  K2K_TOLD("hipMemsetD8Async");
  K2K_CURRENT();
  std::byte* const to = reach(memory, bytes);
  if (to == nullptr) return invalid_value;
  static_cast<Stream*>(stream)->add([=] { return std::memset(to, value, bytes), 0; });
  return 0;
}
K2K_FAKE(hipMemcpyAsync, void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  K2K_TOLD("hipMemcpyAsync");
  K2K_CURRENT();
  constexpr int from_the_addresses = 4;
  std::byte* const target = reach(to, bytes);
  const std::byte* const source = reach(from, bytes);
  if (kind != from_the_addresses || target == nullptr || source == nullptr) return invalid_value;
  static_cast<Stream*>(stream)->add([=] { return std::memcpy(target, source, bytes), 0; });
  return 0;
}

K2K_FAKE(hipModuleLoadData, void** module, const void* image) {
  K2K_TOLD("hipModuleLoadData");
  K2K_CURRENT();
  const std::span<const std::byte> file = file_for(image, k2k_hip_control.architecture);
  if (file.empty()) return no_binary_for_gpu;
  auto made = std::make_unique<Module>();
  made->kernels = kernels_of(file);
  if (made->kernels.empty()) return invalid_image;
  *module = made.release();
  ++k2k_hip_control.modules;
  return 0;
}
K2K_FAKE(hipModuleUnload, void* module) {
  K2K_CURRENT();
  delete static_cast<Module*>(module);
  --k2k_hip_control.modules;
  return 0;
}
K2K_FAKE(hipModuleGetFunction, void** function, void* module, const char* name) {
  K2K_TOLD("hipModuleGetFunction");
  for (CodeKernel& kernel : static_cast<Module*>(module)->kernels) {
    if (kernel.name != name) continue;
    *function = &kernel;
    return 0;
  }
  return not_found;
}
K2K_FAKE(hipModuleLaunchKernel, void* function, unsigned groups, unsigned groups_y,
         unsigned groups_z, unsigned items, unsigned items_y, unsigned items_z, unsigned,
         void* stream, void** parameters, void** extra) {
  K2K_TOLD("hipModuleLaunchKernel");
  K2K_CURRENT();
  const auto& kernel = *static_cast<const CodeKernel*>(function);
  if (groups_y != 1 || groups_z != 1 || items_y != 1 || items_z != 1 || extra != nullptr) {
    return invalid_value;
  }
  ++k2k_hip_control.launches;
  // As the segment of the kernel's arguments: each at its offset.
  auto segment = std::make_shared<std::vector<std::byte>>(kernel.argument_bytes);
  auto arguments = std::make_shared<std::vector<const void*>>();
  for (std::size_t index = 0; index < kernel.arguments.size(); ++index) {
    const Argument& argument = kernel.arguments[index];
    if (argument.offset + argument.size > segment->size()) return invalid_image;
    std::memcpy(segment->data() + argument.offset, parameters[index], argument.size);
    arguments->push_back(segment->data() + argument.offset);
  }
  const StandIn stand_in =
      kernel.name == k2k_hip_control.kernel ? k2k_hip_control.stand_in : nullptr;
  static_cast<Stream*>(stream)->add([=] {
    static_cast<void>(segment);  // The arguments lie there.
    if (stand_in == nullptr) return launch_failure;
    return stand_in(Grid{groups, items}, arguments->data());
  });
  return 0;
}

}  // extern "C"
