// The run-time library, as nvcc's host code calls it: registration, launches by the address of a
// stub, errors. Loaded as a program would load it, beside the driver that it needs.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace k2k::emulator::runtime {

namespace {

struct Shape3 {
  unsigned x, y, z;
};

struct LaunchAttribute {  // cudaLaunchAttribute
  int id, unused;
  alignas(8) unsigned words[16];
};

constexpr const char* runtime_ptx = R"(
.version 9.0
.target sm_90
.address_size 64
.global .align 4 .u32 added = 100;
.visible .entry add(.param .u64 words) {
  .reg .b64 %l<3>; .reg .b32 %r<4>;
  ld.param.u64 %l0, [words]; mov.u32 %r0, %tid.x; mul.wide.u32 %l1, %r0, 4; add.u64 %l0, %l0, %l1;
  ld.global.u32 %r1, [added]; add.u32 %r1, %r1, %r0; st.global.u32 [%l0], %r1; ret;
}
)";

class EmulatedRuntime : public testing::Test {
 protected:
  void SetUp() override {
    library_ = ::dlopen(EMULATED_CUDART_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
  }
  template <class Function>
  Function* find(const char* name) {
    void* const found = ::dlsym(library_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function*>(found);
  }

  void* library_ = nullptr;
};

void stub() {}
void stranger() {}

TEST_F(EmulatedRuntime, launches_what_host_code_registered) {
  auto* const register_image = find<void**(void*)>("__cudaRegisterFatBinary");
  auto* const register_function =
      find<void(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*)>(
          "__cudaRegisterFunction");
  auto* const register_variable =
      find<void(void**, char*, char*, const char*, int, std::size_t, int, int)>(
          "__cudaRegisterVar");
  const auto* const kernel = reinterpret_cast<const char*>(&stub);
  static char shadow = 0;
  void** const image = register_image(const_cast<char*>(runtime_ptx));
  register_function(image, kernel, nullptr, "add", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  register_variable(image, &shadow, nullptr, "added", 0, 4, 0, 0);

  std::uint32_t* words = nullptr;
  void* variable = nullptr;
  EXPECT_EQ(find<int(void**, std::size_t)>("cudaMalloc")(reinterpret_cast<void**>(&words), 128), 0);
  EXPECT_EQ(find<int(void**, const void*)>("cudaGetSymbolAddress")(&variable, &shadow), 0);
  const std::uint32_t amount = 7;
  auto* const copy = find<int(void*, const void*, std::size_t, int)>("cudaMemcpy");
  EXPECT_EQ(copy(variable, &amount, 4, 1), 0);
  // As <<<1, 32>>> does.
  EXPECT_EQ(find<unsigned(Shape3, Shape3, std::size_t, void*)>("__cudaPushCallConfiguration")(
                {1, 1, 1}, {32, 1, 1}, 0, nullptr),
            0u);
  Shape3 blocks{};
  Shape3 threads{};
  std::size_t shared = 1;
  void* stream = nullptr;
  auto* const pop = find<int(Shape3*, Shape3*, std::size_t*, void*)>("__cudaPopCallConfiguration");
  EXPECT_EQ(pop(&blocks, &threads, &shared, &stream), 0);
  EXPECT_NE(pop(&blocks, &threads, &shared, &stream), 0);
  void* arguments[] = {&words};
  EXPECT_EQ(find<int(const void*, Shape3, Shape3, void**, std::size_t, void*)>("cudaLaunchKernel")(
                kernel, blocks, threads, arguments, shared, stream),
            0);
  // With attributes: a cluster, which has to divide the grid.
  struct {
    Shape3 blocks{1, 1, 1}, threads{32, 1, 1};
    std::size_t shared = 0;
    void* stream = nullptr;
    LaunchAttribute* attributes = nullptr;
    unsigned count = 1;
  } config;
  LaunchAttribute cluster{4, 0, {1, 1, 1}};
  config.attributes = &cluster;
  auto* const launch_with = find<int(const void*, const void*, void**)>("cudaLaunchKernelExC");
  EXPECT_EQ(launch_with(&config, kernel, arguments), 0);
  cluster.words[0] = 2;
  EXPECT_EQ(launch_with(&config, kernel, arguments), 912);
  EXPECT_EQ(find<int()>("cudaGetLastError")(), 912);
  EXPECT_EQ(launch_with(nullptr, kernel, arguments), 1);
  EXPECT_EQ(find<int()>("cudaDeviceSynchronize")(), 0);
  std::uint32_t back[32] = {};
  EXPECT_EQ(copy(back, words, 128, 2), 0);
  EXPECT_EQ(back[0], 7u);
  EXPECT_EQ(back[31], 38u);
  EXPECT_EQ(find<int(void*)>("cudaFree")(words), 0);
}

TEST_F(EmulatedRuntime, keeps_the_last_error_until_it_is_read) {
  auto* const last = find<int()>("cudaGetLastError");
  last();
  void* function = nullptr;
  EXPECT_EQ(find<int(void**, const void*)>("cudaGetFuncBySymbol")(
                &function, reinterpret_cast<const void*>(&stranger)),
            98);
  EXPECT_EQ(find<int()>("cudaPeekAtLastError")(), 98);
  EXPECT_EQ(last(), 98);
  EXPECT_EQ(last(), 0);
  const std::string text = find<const char*(int)>("cudaGetErrorString")(98);
  EXPECT_EQ(text, "no kernel of the program has this address");
}

}  // namespace

}  // namespace k2k::emulator::runtime
