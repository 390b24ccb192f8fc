// Question: the cost of libk2k_io.so for a call with host memory. Budget: 5 ns. The benchmark reads
// no bytes from /dev/null by libc and through the library, in turns of a few microseconds, so that
// both have a shared machine's clock. The result of a round is the difference of the medians of its
// turns. `ranges` are registered, apart from the buffer. With `near` the buffer lies between two
// ranges, which is the longest way of host memory.

#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace k2k::shim {
namespace {

using Read = ssize_t (*)(int, void*, std::size_t);
using Syscall = long (*)(long, ...);

constexpr int turns = 2001;
constexpr int turn_calls = 50;

template <class Read>
double turn_ns(Read read, int descriptor, void* memory) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < turn_calls; ++i) benchmark::DoNotOptimize(read(descriptor, memory, 0));
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / turn_calls;
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + turns / 2, values.end());
  return values[turns / 2];
}

void host_memory(benchmark::State& state) {
  void* const library = dlopen(K2K_SHIM, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return state.SkipWithError(dlerror());
  const auto through = reinterpret_cast<Read>(dlsym(library, "read"));
  const auto numbered = reinterpret_cast<Syscall>(dlsym(library, "syscall"));
  const auto by = [](Syscall call) {
    return [call](int descriptor, void* memory, std::size_t bytes) {
      return call(SYS_read, descriptor, memory, bytes);
    };
  };
  const auto add = reinterpret_cast<int (*)(void*, std::size_t)>(dlsym(library, "k2k_io_register"));
  const auto remove = reinterpret_cast<int (*)(void*)>(dlsym(library, "k2k_io_unregister"));
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);

  static char room[3 * 4096];
  for (std::int64_t i = 0; i < state.range(0); ++i) add(room + i, 1);
  if (state.range(1) != 0) add(room + 2 * 4096, 4096);
  char* const memory = room + 4096;

  std::vector<double> libc(turns);
  std::vector<double> shim(turns);
  double libc_ns = 0;
  double shim_ns = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < turns; ++i) {
      const bool number = state.range(2) != 0;
      libc[i] = number ? turn_ns(by(&::syscall), descriptor, memory)
                       : turn_ns(&::read, descriptor, memory);
      shim[i] =
          number ? turn_ns(by(numbered), descriptor, memory) : turn_ns(through, descriptor, memory);
    }
    libc_ns = median(libc);
    shim_ns = median(shim);
  }
  state.counters["libc_ns"] = libc_ns;
  state.counters["shim_ns"] = shim_ns;
  state.counters["difference_ns"] = shim_ns - libc_ns;
  state.counters["ratio"] = shim_ns / libc_ns;

  for (std::int64_t i = 0; i < state.range(0); ++i) remove(room + i);
  if (state.range(1) != 0) remove(room + 2 * 4096);
  close(descriptor);
  dlclose(library);
}
BENCHMARK(host_memory)
    ->ArgNames({"ranges", "near", "number"})
    ->Args({0, 0, 0})
    ->Args({1, 0, 0})
    ->Args({1, 1, 0})
    ->Args({255, 1, 0})
    ->Args({0, 0, 1})
    ->Args({1, 0, 1})
    ->Args({1, 1, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace k2k::shim
