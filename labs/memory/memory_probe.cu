// What do translation and page faults of a GPU's memory cost?
//
//   translation   one lane follows pointers in random order through memory of cudaMalloc, a pointer
//   a
//                 stride: time of a load by footprint. It rises where the TLBs no longer reach,
//                 since the pointers themselves stay in the L2 cache. Loads bypass the L1 cache,
//                 which needs no translation
//   managed       memory of cudaMallocManaged: the device touches a word of each page of 4 KiB,
//   after
//                 nobody or after the host; the host touches them after the device; and the device
//                 after a prefetch. A touch that takes longer than fault_ns counts as a fault; one
//                 fault may bring several pages. Every word is compared at the end
//
// As in the thesis' study of shared virtual memory (sections 2.3, 4.2). One JSON object a line.
//
// usage: memory_probe_cuda [--mib N] [--footprint-mib N] [translation|managed]...
//   --mib            managed memory, 1 to 256 (64)
//   --footprint-mib  the largest footprint, at most a quarter of what is free (8192)
// Exit: 0; 1: an error or a wrong word; 2: usage; 77: no device here.

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using Word = unsigned long long;

constexpr std::size_t page = 4096;
constexpr std::size_t mib = 1 << 20;
constexpr std::size_t line_bytes = 128;
constexpr double fault_ns = 3000;
constexpr std::size_t strides[] = {64 * 1024, 2 * mib};
constexpr std::uint32_t steps_min = 4096;
constexpr std::uint32_t steps_max = 65536;

struct Options {
  std::size_t managed_bytes = 64 * mib;
  std::size_t footprint_bytes = 8192 * mib;
  bool translation = true;
  bool managed = true;
};

// --- Kernels.

// The chain: each node holds the address of the next one. Nodes lie a stride apart, in lines that
// differ, so that they spread over the sets of a cache.
__device__ Word* node(char* memory, std::size_t stride, std::uint32_t at) {
  const std::size_t lines = stride / line_bytes;
  return reinterpret_cast<Word*>(memory + at * stride + (at * 7 % lines) * line_bytes);
}
__global__ void link(char* memory, std::size_t stride, const std::uint32_t* order,
                     std::uint32_t nodes) {
  for (std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < nodes;
       at += gridDim.x * blockDim.x) {
    *node(memory, stride, order[at]) =
        reinterpret_cast<Word>(node(memory, stride, order[(at + 1) % nodes]));
  }
}
// One lane. `result`: cycles, and the last address, which the compiler must not leave out.
__global__ void chase(char* memory, std::size_t stride, std::uint32_t first, std::uint32_t steps,
                      Word* result) {
  const Word* at = node(memory, stride, first);
  const long long begin = clock64();
  for (std::uint32_t step = 0; step < steps; ++step) {
    at = reinterpret_cast<const Word*>(__ldcg(at));
  }
  result[0] = static_cast<Word>(clock64() - begin);
  result[1] = reinterpret_cast<Word>(at);
}

// Adds 1 to a word of each page. With one lane, `taken` gets the cycles of each touch.
__global__ void touch(Word* memory, const std::uint32_t* order, std::uint32_t pages, Word* taken,
                      Word* total) {
  const std::uint32_t lanes = gridDim.x * blockDim.x;
  const long long begin = clock64();
  for (std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < pages; at += lanes) {
    volatile Word* const word = memory + order[at] * (page / sizeof(Word));
    const long long start = clock64();
    *word = *word + 1;
    if (taken != nullptr) {
      __threadfence();
      taken[at] = static_cast<Word>(clock64() - start);
    }
  }
  if (taken != nullptr) *total = static_cast<Word>(clock64() - begin);
}

// --- The device.

// Ends the program on an error: without this step, the probe cannot continue.
void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "memory_probe: cannot %s: %s (%s); see nvidia-smi\n", what,
               cudaGetErrorString(code), cudaGetErrorName(code));
  std::exit(1);
}

template <class Value>
class Device {
 public:
  explicit Device(std::size_t count) {
    check(cudaMalloc(reinterpret_cast<void**>(&values_), count * sizeof(Value)), "allocate memory");
  }
  explicit Device(const std::vector<Value>& values) : Device(values.size()) {
    check(cudaMemcpy(values_, values.data(), values.size() * sizeof(Value), cudaMemcpyHostToDevice),
          "copy to the device");
  }
  ~Device() { cudaFree(values_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  [[nodiscard]] Value* get() const { return values_; }
  [[nodiscard]] std::vector<Value> read(std::size_t count) const {
    std::vector<Value> values(count);
    check(cudaMemcpy(values.data(), values_, count * sizeof(Value), cudaMemcpyDeviceToHost),
          "copy from the device");
    return values;
  }

 private:
  Value* values_ = nullptr;
};

// Functions that are not in every run-time library, from the driver that is already loaded.
template <class Function>
Function* of_driver(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

std::size_t free_bytes() {
  const auto info = of_driver<CUresult(std::size_t*, std::size_t*)>("cuMemGetInfo_v2");
  std::size_t free = 0;
  std::size_t all = 0;
  if (info == nullptr || info(&free, &all) != CUDA_SUCCESS) return 0;
  return free;
}

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  check(cudaDeviceSynchronize(), "run a kernel");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<std::uint32_t> order_of(std::uint32_t count, bool random, std::uint64_t seed) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937_64 generator(seed);
  if (random) std::shuffle(order.begin(), order.end(), generator);
  return order;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// --- Translation.

void translation(const Options& options) {
  constexpr int repeats = 5;
  const std::size_t free = free_bytes();
  std::size_t largest = mib;
  while (largest * 2 <= std::min(options.footprint_bytes, free / 4)) largest *= 2;
  const Device<char> memory(largest);
  const Device<Word> result(2);
  for (const std::size_t stride : strides) {
    for (std::size_t footprint = std::max(mib, 8 * stride); footprint <= largest; footprint *= 2) {
      const auto nodes = static_cast<std::uint32_t>(footprint / stride);
      const std::vector<std::uint32_t> order = order_of(nodes, true, footprint);
      const Device<std::uint32_t> on_device(order);
      link<<<64, 64>>>(memory.get(), stride, on_device.get(), nodes);
      const std::uint32_t steps = std::clamp(nodes, steps_min, steps_max);
      std::vector<double> cycles;
      std::vector<double> ns;
      for (int repeat = 0; repeat <= repeats; ++repeat) {  // The first one warms up.
        const double seconds = seconds_of(
            [&] { chase<<<1, 1>>>(memory.get(), stride, order[0], steps, result.get()); });
        if (repeat == 0) continue;
        cycles.push_back(static_cast<double>(result.read(1)[0]) / steps);
        ns.push_back(seconds * 1e9 / steps);
      }
      std::printf("{\"bench\":\"translation\",\"stride_kib\":%zu,\"footprint_mib\":%zu",
                  stride / 1024, footprint / mib);
      std::printf(",\"loads\":%u,\"cycles_a_load\":%.1f,\"ns_a_load\":%.1f}\n", steps,
                  median(cycles), median(ns));
      std::fflush(stdout);
    }
  }
}

// --- Managed memory.

struct Scene {
  const char* name;
  bool host_first;  // The host fills the pages.
  bool prefetch;    // Then they are brought to the device by one call.
  bool random;
  std::uint32_t blocks;
  std::uint32_t lanes;  // Of a block.
};
constexpr Scene scenes[] = {
    {"device touches new pages", false, false, false, 1, 1},
    {"device touches new pages", false, false, true, 1, 1},
    {"device touches the host's pages", true, false, false, 1, 1},
    {"device touches the host's pages", true, false, true, 1, 1},
    {"device touches the host's pages", true, false, true, 64, 64},
    {"prefetch, then device touches", true, true, true, 64, 64},
};

struct Touches {
  std::uint32_t faults = 0;
  double us_a_fault = 0;  // Median.
};
Touches touches_of(const std::vector<double>& ns) {
  std::vector<double> slow;
  std::copy_if(ns.begin(), ns.end(), std::back_inserter(slow),
               [](double one) { return one > fault_ns; });
  return {static_cast<std::uint32_t>(slow.size()), median(slow) / 1000};
}

// The host adds 1 to each page's word.
std::vector<double> host_touches(Word* memory, const std::vector<std::uint32_t>& order) {
  std::vector<double> ns;
  for (const std::uint32_t at : order) {
    volatile Word* const word = memory + at * (page / sizeof(Word));
    const auto begin = std::chrono::steady_clock::now();
    *word = *word + 1;
    ns.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  return ns;
}

void say(const char* scene, const Scene& how, std::uint32_t pages, double seconds,
         const Touches* touches) {
  std::printf("{\"bench\":\"managed\",\"scene\":\"%s\",\"order\":\"%s\",\"lanes\":%u,\"pages\":%u",
              scene, how.random ? "random" : "sequential", how.blocks * how.lanes, pages);
  std::printf(",\"us_a_page\":%.3f,\"pages_a_s\":%.0f", seconds * 1e6 / pages, pages / seconds);
  if (touches != nullptr) {
    std::printf(",\"faults\":%u,\"us_a_fault\":%.3f,\"faults_a_s\":%.0f", touches->faults,
                touches->us_a_fault, touches->faults / seconds);
  }
  std::printf("}\n");
  std::fflush(stdout);
}

// Empty: done; else why it cannot be.
std::string prefetch(Word* memory, std::size_t bytes) {
  const auto call =
      of_driver<CUresult(CUdeviceptr, std::size_t, CUmemLocation, unsigned, CUstream)>(
          "cuMemPrefetchAsync_v2");
  if (call == nullptr) return "the driver has no cuMemPrefetchAsync_v2";
  CUmemLocation device{};
  device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  device.id = 0;
  const CUresult code = call(reinterpret_cast<CUdeviceptr>(memory), bytes, device, 0, nullptr);
  return code == CUDA_SUCCESS ? "" : "error " + std::to_string(code);
}

// Wrong words: a page's word counts its touches.
std::uint32_t play(const Scene& scene, std::uint32_t pages) {
  Word* memory = nullptr;
  check(cudaMallocManaged(reinterpret_cast<void**>(&memory), pages * page, cudaMemAttachGlobal),
        "allocate managed memory");
  const std::vector<std::uint32_t> order = order_of(pages, scene.random, 1);
  const Device<std::uint32_t> on_device(order);
  const bool one_lane = scene.blocks * scene.lanes == 1;
  const Device<Word> taken(pages);
  const Device<Word> total(1);
  Word expected = 0;
  if (scene.host_first) {
    host_touches(memory, order_of(pages, false, 1));
    ++expected;
  }
  std::string missing;
  const double seconds = seconds_of([&] {
    if (scene.prefetch) missing = prefetch(memory, pages * page);
    touch<<<scene.blocks, scene.lanes>>>(memory, on_device.get(), pages,
                                         one_lane ? taken.get() : nullptr, total.get());
  });
  ++expected;
  if (!missing.empty()) {
    std::printf("{\"bench\":\"managed\",\"scene\":\"%s\",\"not_measured\":\"%s\"}\n", scene.name,
                missing.c_str());
  } else if (one_lane) {
    const double ns_a_cycle = seconds * 1e9 / static_cast<double>(total.read(1)[0]);
    std::vector<double> ns;
    for (const Word cycles : taken.read(pages)) {
      ns.push_back(static_cast<double>(cycles) * ns_a_cycle);
    }
    const Touches touches = touches_of(ns);
    say(scene.name, scene, pages, seconds, &touches);
  } else {
    say(scene.name, scene, pages, seconds, nullptr);
  }
  if (one_lane) {
    const std::vector<double> ns = host_touches(memory, order);
    ++expected;
    const Touches touches = touches_of(ns);
    say("host touches the device's pages", scene, pages,
        std::accumulate(ns.begin(), ns.end(), 0.0) * 1e-9, &touches);
  }
  std::uint32_t wrong = 0;
  for (std::uint32_t at = 0; at < pages; ++at) {
    wrong += memory[at * (page / sizeof(Word))] == expected ? 0 : 1;
  }
  check(cudaFree(memory), "free managed memory");
  return wrong;
}

int managed(const Options& options) {
  int concurrent = 0;
  check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0),
        "ask the device");
  if (concurrent == 0) {
    std::printf("{\"bench\":\"managed\",\"not_measured\":\"the device has no page faults\"}\n");
    return 0;
  }
  const std::size_t bytes = std::min(options.managed_bytes, free_bytes() / 4);
  const auto pages = static_cast<std::uint32_t>(bytes / page);
  std::uint32_t wrong = 0;
  for (const Scene& scene : scenes) wrong += play(scene, pages);
  if (wrong == 0) return 0;
  std::fprintf(stderr, "memory_probe: %u pages hold a wrong count of touches\n", wrong);
  return 1;
}

// --- The command line.

bool number(const char* text, std::size_t least, std::size_t most, std::size_t& bytes) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (end == text || *end != 0 || value < least || value > most) return false;
  bytes = value * mib;
  return true;
}

bool read_options(int count, char** words, Options& options) {
  bool named = false;
  for (int at = 1; at < count; ++at) {
    const std::string word = words[at];
    if (word == "translation" || word == "managed") {
      if (!named) options.translation = options.managed = false;
      named = true;
      (word == "managed" ? options.managed : options.translation) = true;
    } else if (word == "--mib" && at + 1 < count) {
      if (!number(words[++at], 1, 256, options.managed_bytes)) return false;
    } else if (word == "--footprint-mib" && at + 1 < count) {
      if (!number(words[++at], 1, 65536, options.footprint_bytes)) return false;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (!read_options(count, words, options)) {
    std::fprintf(stderr,
                 "usage: memory_probe_cuda [--mib 1..256] [--footprint-mib 1..65536] "
                 "[translation|managed]...\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "memory_probe: no CUDA device; see nvidia-smi\n");
    return 77;
  }
  check(cudaSetDevice(0), "use the first device");
  check(cudaFree(nullptr), "make a context");
  if (options.translation) translation(options);
  return options.managed ? managed(options) : 0;
}
