// The driver interface as a program sees it, through libcuda.so.1: answers, errors, the life of
// contexts, streams, modules and memory. Launches: launches_test.cpp. The host is alive after
// everything a kernel does.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "emulator/cuda/tests/driver_fixture.hpp"

namespace k2k::emulator::driver {

namespace {

CUresult load_text(const std::string& text) {
  CUmodule module = nullptr;
  return api().cuModuleLoadData(&module, text.c_str());
}

TEST_F(EmulatedDriver, runs_a_kernel_in_the_order_of_its_stream) {
  const CUdeviceptr words = memory(256);
  CUstream stream = nullptr;
  ASSERT_EQ(api().cuStreamCreate(&stream, 1), success);
  EXPECT_EQ(api().cuMemsetD8Async(words, 1, 256, stream), success);
  EXPECT_EQ(launch("add", words, 64, stream), success);
  EXPECT_EQ(launch("add", words, 32, stream), success);
  std::uint32_t back[64] = {};
  EXPECT_EQ(api().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(back), words, 256, stream), success);
  EXPECT_EQ(api().cuStreamSynchronize(stream), success);
  EXPECT_EQ(back[31], 0x0101010bu);
  EXPECT_EQ(back[32], 0x01010106u);
  EXPECT_EQ(api().cuStreamDestroy_v2(stream), success);
  EXPECT_EQ(api().cuStreamSynchronize(stream), invalid_handle);
  EXPECT_EQ(api().cuMemFree_v2(words), success);
}

TEST_F(EmulatedDriver, lets_the_host_speak_with_a_running_kernel) {
  void* host = nullptr;
  ASSERT_EQ(api().cuMemHostAlloc(&host, 64, 3), success);
  auto* const words = static_cast<std::atomic<std::uint32_t>*>(host);
  CUstream stream = nullptr;
  ASSERT_EQ(api().cuStreamCreate(&stream, 1), success);
  ASSERT_EQ(launch("wait_for", reinterpret_cast<CUdeviceptr>(host), 1, stream), success);
  EXPECT_EQ(api().cuStreamQuery(stream), not_ready);
  words[0].store(9, std::memory_order_release);
  while (words[1].load(std::memory_order_acquire) == 0) std::this_thread::yield();
  EXPECT_EQ(words[1].load(), 9u);
  EXPECT_EQ(api().cuStreamSynchronize(stream), success);
  EXPECT_EQ(api().cuMemFreeHost(host), success);
}

TEST_F(EmulatedDriver, orders_the_legacy_stream_and_events) {
  void* host = nullptr;
  ASSERT_EQ(api().cuMemHostAlloc(&host, 64, 3), success);
  auto* const words = static_cast<std::atomic<std::uint32_t>*>(host);
  CUstream first = nullptr;
  CUstream second = nullptr;
  CUevent begun = nullptr;
  CUevent ended = nullptr;
  ASSERT_EQ(api().cuStreamCreate(&first, 0), success);
  ASSERT_EQ(api().cuStreamCreate(&second, 1), success);
  ASSERT_EQ(api().cuEventCreate(&begun, 0), success);
  ASSERT_EQ(api().cuEventCreate(&ended, 0), success);
  EXPECT_EQ(api().cuEventRecord(begun, first), success);
  ASSERT_EQ(launch("wait_for", reinterpret_cast<CUdeviceptr>(host), 1, first), success);
  EXPECT_EQ(api().cuEventRecord(ended, first), success);
  EXPECT_EQ(api().cuEventQuery(ended), not_ready);
  EXPECT_EQ(api().cuStreamWaitEvent(second, ended, 0), success);
  const auto count = [](void* counter) { ++*static_cast<std::atomic<std::uint32_t>*>(counter); };
  EXPECT_EQ(api().cuLaunchHostFunc(second, count, words + 2), success);
  EXPECT_EQ(api().cuLaunchHostFunc(nullptr, count, words + 3), success);  // Waits for `first`.
  EXPECT_EQ(words[2].load() + words[3].load(), 0u);
  words[0].store(1, std::memory_order_release);
  EXPECT_EQ(api().cuStreamSynchronize(second), success);
  EXPECT_EQ(api().cuCtxSynchronize(), success);
  EXPECT_EQ(words[2].load(), 1u);
  EXPECT_EQ(words[3].load(), 1u);
  float milliseconds = -1;
  EXPECT_EQ(api().cuEventElapsedTime(&milliseconds, begun, ended), success);
  EXPECT_GT(milliseconds, 0.0f);
  EXPECT_EQ(api().cuEventDestroy_v2(begun), success);
  EXPECT_EQ(api().cuEventDestroy_v2(begun), invalid_handle);
}

// Copies that come to memory which was given back meanwhile: the context's fault, the host alive.
TEST_F(EmulatedDriver, ends_copies_whose_memory_is_gone) {
  for (const bool sets : {true, false}) {
    CUcontext context = nullptr;
    ASSERT_EQ(api().cuCtxCreate_v2(&context, 0, 0), success);
    CUstream stream = nullptr;
    ASSERT_EQ(api().cuStreamCreate(&stream, 1), success);
    const CUdeviceptr kept = memory(4096);
    const CUdeviceptr gone = memory(4096);
    std::atomic<bool> go{false};
    const auto wait = [](void* flag) {
      while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
    };
    ASSERT_EQ(api().cuLaunchHostFunc(stream, wait, &go), success);
    EXPECT_EQ(sets ? api().cuMemsetD8Async(gone, 1, 4096, stream)
                   : api().cuMemcpyAsync(kept, gone, 4096, stream),
              success);
    EXPECT_EQ(api().cuMemFree_v2(gone), success);
    go.store(true);
    EXPECT_EQ(api().cuStreamSynchronize(stream), illegal_address);
    EXPECT_EQ(api().cuCtxDestroy_v2(context), success);
    EXPECT_EQ(api().cuCtxSetCurrent(context_), success);
  }
}

TEST_F(EmulatedDriver, answers_for_images_that_it_does_not_take) {
  const std::string good(ptx_text);
  EXPECT_EQ(load_text(good.substr(0, good.find("nanosleep"))), invalid_ptx);
  EXPECT_EQ(load_text(".version 9.9\n.target sm_90\n"), unsupported_ptx_version);
  EXPECT_EQ(load_text(".version 9.0\n.target sm_120\n"), no_binary_for_gpu);
  EXPECT_EQ(load_text(".version 9.0\n.target sm_90\n.entry k() { frobnicate.u32 1; ret; }"),
            invalid_ptx);
  EXPECT_EQ(load_text("\x7f"
                      "ELF and so on"),
            no_binary_for_gpu);
  EXPECT_EQ(load_text("hello"), invalid_image);
  EXPECT_EQ(load_text("h"), invalid_image);
  CUmodule module = nullptr;
  EXPECT_EQ(api().cuModuleLoadData(&module, nullptr), invalid_value);
  // A fat binary whose entry is longer than itself.
  const std::uint64_t broken[] = {
      0x00100001ba55ed50, 64, 0x0000005001010001, 1000, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(api().cuModuleLoadData(&module, broken), invalid_image);
  CUfunction missing = nullptr;
  EXPECT_EQ(api().cuModuleGetFunction(&missing, module_, "nothing"), not_found);
}

// A fat binary with one entry of PTX for `architecture`.
std::string fat_binary(const std::string& content, std::uint64_t plain_bytes, std::uint64_t flags,
                       std::uint32_t architecture = 90) {
  std::string all;
  const auto add = [&](std::uint64_t value, int bytes) {
    for (int at = 0; at < bytes; ++at) all += static_cast<char>(value >> (8 * at));
  };
  const std::size_t padded = (content.size() + 7) / 8 * 8;
  add(0xba55ed50, 4), add(1, 2), add(16, 2), add(64 + padded, 8);
  add(1, 2), add(0x101, 2), add(64, 4), add(padded, 8), add(content.size(), 4), add(0, 4);
  add(0, 2), add(9, 2), add(architecture, 4), add(0, 8), add(flags, 8), add(0, 8);
  add(plain_bytes, 8);
  return all + content + std::string(padded - content.size(), '\0');
}

TEST_F(EmulatedDriver, takes_the_ptx_of_a_fat_binary) {
  const std::string text(ptx_text);
  CUmodule module = nullptr;
  EXPECT_EQ(api().cuModuleLoadData(&module, fat_binary(text, text.size(), 0).data()), success);
  EXPECT_EQ(api().cuModuleLoadData(&module, fat_binary(text, text.size(), 0, 120).data()),
            no_binary_for_gpu);
  EXPECT_EQ(api().cuModuleLoadData(&module, fat_binary("damaged", text.size(), 0x8000).data()),
            invalid_image);
  using Compress = std::size_t (*)(void*, std::size_t, const void*, std::size_t, int);
  void* const library = ::dlopen("libzstd.so.1", RTLD_NOW);
  if (library == nullptr) GTEST_SKIP() << "there is no libzstd.so.1 here";
  const auto compress = reinterpret_cast<Compress>(::dlsym(library, "ZSTD_compress"));
  std::string packed(text.size() + 1000, '\0');
  packed.resize(compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  EXPECT_EQ(api().cuModuleLoadData(&module, fat_binary(packed, text.size(), 0x8000).data()),
            success);
  // The wrapper that nvcc's host code passes.
  const std::string fat = fat_binary(packed, text.size(), 0x8000);
  const struct {
    std::uint32_t magic, version;
    const void* data;
    const void* more;
  } wrapper{0x466243b1, 1, fat.data(), nullptr};
  EXPECT_EQ(api().cuModuleLoadData(&module, &wrapper), success);
}

TEST_F(EmulatedDriver, keeps_the_fault_of_a_kernel_until_the_context_ends) {
  EXPECT_EQ(launch("add", 0), success);
  EXPECT_EQ(api().cuCtxSynchronize(), illegal_address);
  CUdeviceptr address = 0;
  EXPECT_EQ(api().cuMemAlloc_v2(&address, 8), illegal_address);
  CUfunction found = nullptr;
  EXPECT_EQ(api().cuModuleGetFunction(&found, module_, "add"), illegal_address);
  EXPECT_EQ(api().cuCtxDestroy_v2(context_), success);
  ASSERT_EQ(api().cuCtxCreate_v2(&context_, 0, 0), success);
  EXPECT_EQ(api().cuMemAlloc_v2(&address, 8), success);
}

TEST_F(EmulatedDriver, finds_kernels_that_use_memory_after_its_end) {
  const CUdeviceptr words = memory(64);
  EXPECT_EQ(api().cuMemFree_v2(words), success);
  EXPECT_EQ(api().cuMemFree_v2(words), invalid_value);
  // No other mapping gets the addresses.
  void* const others = ::mmap(reinterpret_cast<void*>(words), 64, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  EXPECT_EQ(others, MAP_FAILED);
  EXPECT_EQ(launch("add", words), success);
  EXPECT_EQ(api().cuCtxSynchronize(), illegal_address);
}

TEST_F(EmulatedDriver, returns_the_pages_of_freed_memory_to_linux) {
  constexpr std::size_t bytes = 64u << 20;
  const CUdeviceptr address = memory(bytes);
  const auto resident = [&] {
    std::vector<unsigned char> pages(bytes / 4096);
    EXPECT_EQ(::mincore(reinterpret_cast<void*>(address), bytes, pages.data()), 0);
    return std::count_if(pages.begin(), pages.end(), [](auto page) { return (page & 1) != 0; });
  };
  std::memset(reinterpret_cast<void*>(address), 1, bytes);
  EXPECT_GT(resident(), 0);
  EXPECT_EQ(api().cuMemFree_v2(address), success);
  EXPECT_EQ(resident(), 0);
}

TEST_F(EmulatedDriver, ends_a_kernel_that_never_ends_with_its_context) {
  CUstream stream = nullptr;
  ASSERT_EQ(api().cuStreamCreate(&stream, 1), success);
  EXPECT_EQ(launch("forever", memory(8), 256, stream), success);
  EXPECT_EQ(api().cuStreamQuery(stream), not_ready);
  EXPECT_EQ(api().cuCtxDestroy_v2(context_), success);
  EXPECT_EQ(api().cuStreamQuery(stream), invalid_context);
  ASSERT_EQ(api().cuCtxCreate_v2(&context_, 0, 0), success);
}

TEST_F(EmulatedDriver, knows_the_memory_that_it_gave) {
  std::size_t unused = 0;
  std::size_t total = 0;
  EXPECT_EQ(api().cuMemGetInfo_v2(&unused, &total), success);
  CUdeviceptr address = 0;
  EXPECT_EQ(api().cuMemAlloc_v2(&address, total + 1), out_of_memory);
  EXPECT_EQ(api().cuMemAlloc_v2(&address, 0), invalid_value);
  address = memory(100);
  unsigned type = 0;
  EXPECT_EQ(api().cuPointerGetAttribute(&type, 2, address + 99), success);
  EXPECT_EQ(type, 2u);
  EXPECT_EQ(api().cuPointerGetAttribute(&type, 2, address + 100), invalid_value);
  int local = 0;
  EXPECT_EQ(api().cuPointerGetAttribute(&type, 2, reinterpret_cast<CUdeviceptr>(&local)),
            invalid_value);
  std::vector<char> host(4096);
  EXPECT_EQ(api().cuMemHostRegister_v2(host.data(), host.size(), 0), success);
  EXPECT_EQ(api().cuMemHostRegister_v2(host.data() + 100, 8, 0), 712);
  EXPECT_EQ(api().cuMemHostUnregister(host.data()), success);
  EXPECT_EQ(api().cuMemHostUnregister(host.data()), 713);
  char text[200] = {};
  EXPECT_EQ(api().cuMemcpy(reinterpret_cast<CUdeviceptr>(text), address, 101), invalid_value);
  EXPECT_EQ(api().cuMemcpy(reinterpret_cast<CUdeviceptr>(text), 0, 4), invalid_value);
  CUdeviceptr global = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(api().cuModuleGetGlobal_v2(&global, &bytes, module_, "answer"), success);
  std::uint32_t value = 0;
  EXPECT_EQ(api().cuMemcpy(reinterpret_cast<CUdeviceptr>(&value), global, 4), success);
  EXPECT_EQ(value, 42u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(api().cuModuleUnload(module_), success);
  EXPECT_EQ(api().cuModuleUnload(module_), invalid_handle);
}

TEST_F(EmulatedDriver, finds_entry_points_by_version_and_counts_what_is_missing) {
  void* address = nullptr;
  int status = -1;
  EXPECT_EQ(api().cuGetProcAddress_v2("cuMemAlloc", &address, 13000, 0, &status), success);
  EXPECT_EQ(address, reinterpret_cast<void*>(api().cuMemAlloc_v2));
  EXPECT_EQ(status, 0);
  // Programs of CUDA 2 mean another function, which is not supported.
  EXPECT_EQ(api().cuGetProcAddress_v2("cuMemAlloc", &address, 2000, 0, &status), success);
  EXPECT_NE(address, reinterpret_cast<void*>(api().cuMemAlloc_v2));
  EXPECT_EQ(api().cuGetProcAddress_v2("cuNothing", &address, 13000, 0, &status), not_found);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(api().cuGetProcAddress_v2("cuGraphCreate", &address, 13000, 0, nullptr), success);
  const auto create = reinterpret_cast<CUresult (*)(void*, unsigned)>(address);
  EXPECT_EQ(create(nullptr, 0), not_supported);
  int value = 0;
  EXPECT_EQ(api().cuDeviceGetAttribute(&value, 75, 0), success);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(api().cuDeviceGetAttribute(&value, 75, 1), invalid_device);
  const char* name = nullptr;
  EXPECT_EQ(api().cuGetErrorName(700, &name), success);
  EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(api().cuGetErrorName(12345, &name), invalid_value);
}

TEST_F(EmulatedDriver, is_not_initialised_in_a_forked_child) {
  const pid_t child = ::fork();
  if (child == 0) {
    int count = 0;
    const bool refused =
        api().cuDeviceGetCount(&count) == not_initialized && api().cuInit(0) == not_initialized;
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// In a process of its own: the run-time library, which other tests load, keeps that context.
void share_the_primary_context() {
  EXPECT_EQ(api().cuInit(0), success);
  CUcontext first = nullptr;
  CUcontext second = nullptr;
  EXPECT_EQ(api().cuDevicePrimaryCtxRetain(&first, 0), success);
  EXPECT_EQ(api().cuDevicePrimaryCtxRetain(&second, 0), success);
  EXPECT_EQ(first, second);
  EXPECT_EQ(api().cuDevicePrimaryCtxRelease_v2(0), success);
  EXPECT_EQ(api().cuCtxSetCurrent(first), success);
  EXPECT_EQ(api().cuCtxSynchronize(), success);
  EXPECT_EQ(api().cuDevicePrimaryCtxRelease_v2(0), success);
  EXPECT_EQ(api().cuCtxSynchronize(), context_is_destroyed);
  EXPECT_EQ(api().cuDevicePrimaryCtxRelease_v2(0), invalid_context);
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(EmulatedDriverAlone, shares_its_primary_context) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // Begins the program anew, for this test alone.
  EXPECT_EXIT(share_the_primary_context(), testing::ExitedWithCode(0), "");
}

// In a process of its own: the variable is read once.
void reach_pages_of_the_host() {
  ::setenv("EMULATED_CUDA_PAGEABLE", "1", 1);
  ::setenv("EMULATED_CUDA_LOG", "/dev/null", 1);
  EXPECT_EQ(api().cuInit(0), success);
  int reaches = 0;
  EXPECT_EQ(api().cuDeviceGetAttribute(&reaches, 88, 0), success);
  EXPECT_EQ(reaches, 1);
  constexpr std::size_t page = 4096;
  const auto ends_as = [&](CUresult wanted, std::byte* words) {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction add = nullptr;
    EXPECT_EQ(api().cuCtxCreate_v2(&context, 0, 0), success);
    EXPECT_EQ(api().cuModuleLoadData(&module, ptx_text), success);
    EXPECT_EQ(api().cuModuleGetFunction(&add, module, "add"), success);
    auto address = reinterpret_cast<CUdeviceptr>(words);
    std::uint32_t amount = 5;
    void* parameters[] = {&address, &amount};
    EXPECT_EQ(api().cuLaunchKernel(add, 1, 1, 1, 4, 1, 1, 0, nullptr, parameters, nullptr),
              success);
    EXPECT_EQ(api().cuCtxSynchronize(), wanted);
    EXPECT_EQ(api().cuCtxDestroy_v2(context), success);
  };
  std::uint32_t own[4] = {1, 2, 3, 4};
  ends_as(success, reinterpret_cast<std::byte*>(own));
  EXPECT_EQ(own[3], 9u);
  // A page that nobody touched comes; one that may only be read, or is no memory, does not.
  auto* const pages = static_cast<std::byte*>(
      ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ends_as(success, pages);
  EXPECT_EQ(*reinterpret_cast<std::uint32_t*>(pages), 5u);
  ::mprotect(pages + page, page, PROT_READ);
  ends_as(illegal_address, pages + page);
  ::munmap(pages + 2 * page, page);
  ends_as(illegal_address, pages + 2 * page);
  ends_as(illegal_address, nullptr);
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(EmulatedDriverAlone, reaches_pages_of_the_host_where_a_variable_says_so) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(reach_pages_of_the_host(), testing::ExitedWithCode(0), "");
}

TEST_F(EmulatedDriver, refuses_pages_of_the_host_elsewhere) {
  std::uint32_t own = 0;
  EXPECT_EQ(launch("add", reinterpret_cast<CUdeviceptr>(&own)), success);
  EXPECT_EQ(api().cuCtxSynchronize(), illegal_address);
}

}  // namespace

}  // namespace k2k::emulator::driver
