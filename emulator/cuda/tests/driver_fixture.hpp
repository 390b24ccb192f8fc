#pragma once
// For tests of the driver interface: its entry points, found in libcuda.so.1 as a program finds
// them, and a context with a module of small kernels.
//
// Threading: as the driver's; a fixture's context is current in the test's thread.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "emulator/cuda/driver/state.hpp"

#define K2K_ENTRIES(entry)                                                                       \
  entry(cuInit) entry(cuCtxCreate_v2) entry(cuCtxDestroy_v2) entry(cuCtxSynchronize)             \
      entry(cuCtxGetCurrent) entry(cuCtxSetCurrent) entry(cuDeviceGetAttribute) entry(           \
          cuDevicePrimaryCtxRetain) entry(cuDevicePrimaryCtxRelease_v2) entry(cuDeviceGetCount)  \
          entry(cuGetErrorName) entry(cuModuleLoadData) entry(cuModuleGetFunction)               \
              entry(cuModuleGetGlobal_v2) entry(cuModuleUnload) entry(cuFuncGetAttribute)        \
                  entry(cuFuncSetAttribute) entry(cuLaunchKernel) entry(cuLaunchKernelEx) entry( \
                      cuLaunchCooperativeKernel) entry(cuLaunchHostFunc) entry(cuMemAlloc_v2)    \
                      entry(cuMemFree_v2) entry(cuMemHostAlloc) entry(cuMemFreeHost)             \
                          entry(cuMemHostRegister_v2) entry(cuMemHostUnregister) entry(cuMemcpy) \
                              entry(cuMemcpyAsync) entry(cuMemsetD8Async) entry(cuMemsetD32_v2)  \
                                  entry(cuPointerGetAttribute) entry(cuStreamCreate)             \
                                      entry(cuStreamDestroy_v2) entry(cuStreamQuery)             \
                                          entry(cuStreamSynchronize) entry(cuStreamWaitEvent)    \
                                              entry(cuEventCreate) entry(cuEventRecord)          \
                                                  entry(cuEventSynchronize) entry(cuEventQuery)  \
                                                      entry(cuEventDestroy_v2)                   \
                                                          entry(cuEventElapsedTime)              \
                                                              entry(cuGetProcAddress_v2)         \
                                                                  entry(cuMemGetInfo_v2)

// The declarations that the entry points have in driver/: only their types are used here.
extern "C" {
CUresult cuInit(unsigned);
CUresult cuCtxCreate_v2(CUcontext*, unsigned, CUdevice);
CUresult cuCtxDestroy_v2(CUcontext);
CUresult cuCtxSynchronize();
CUresult cuCtxGetCurrent(CUcontext*);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuDeviceGetAttribute(int*, int, CUdevice);
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice);
CUresult cuDeviceGetCount(int*);
CUresult cuGetErrorName(CUresult, const char**);
CUresult cuModuleLoadData(CUmodule*, const void*);
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*);
CUresult cuModuleGetGlobal_v2(CUdeviceptr*, std::size_t*, CUmodule, const char*);
CUresult cuModuleUnload(CUmodule);
CUresult cuFuncGetAttribute(int*, int, CUfunction);
CUresult cuFuncSetAttribute(CUfunction, int, int);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void**, void**);
CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**);
CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, unsigned, CUstream, void**);
CUresult cuLaunchHostFunc(CUstream, CUhostFn, void*);
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemHostAlloc(void**, std::size_t, unsigned);
CUresult cuMemFreeHost(void*);
CUresult cuMemHostRegister_v2(void*, std::size_t, unsigned);
CUresult cuMemHostUnregister(void*);
CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, std::size_t);
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, std::size_t, CUstream);
CUresult cuMemsetD32_v2(CUdeviceptr, unsigned, std::size_t);
CUresult cuPointerGetAttribute(void*, int, CUdeviceptr);
CUresult cuStreamCreate(CUstream*, unsigned);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamQuery(CUstream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuEventCreate(CUevent*, unsigned);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventSynchronize(CUevent);
CUresult cuEventQuery(CUevent);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuEventElapsedTime(float*, CUevent, CUevent);
CUresult cuGetProcAddress_v2(const char*, void**, int, std::uint64_t, int*);
CUresult cuMemGetInfo_v2(std::size_t*, std::size_t*);
}

namespace k2k::emulator::driver {

struct Api {
#define K2K_MEMBER(name) decltype(&::name) name = nullptr;
  K2K_ENTRIES(K2K_MEMBER)
#undef K2K_MEMBER
  void* library = nullptr;
};

inline const Api& api() {
  static const Api loaded = [] {
    Api all;
    all.library = ::dlopen(EMULATED_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(all.library, nullptr) << ::dlerror();
#define K2K_FIND(name) all.name = reinterpret_cast<decltype(all.name)>(::dlsym(all.library, #name));
    K2K_ENTRIES(K2K_FIND)
#undef K2K_FIND
    return all;
  }();
  return loaded;
}

inline constexpr const char* ptx_text = R"(
.version 9.0
.target sm_90
.address_size 64
.global .align 4 .u32 answer = 42;
.extern .shared .align 4 .b8 room[];
.visible .entry add(.param .u64 words, .param .u32 amount) {
  .reg .b64 %l<4>; .reg .b32 %r<4>;
  ld.param.u64 %l0, [words]; ld.param.u32 %r0, [amount];
  mov.u32 %r1, %tid.x; mul.wide.u32 %l1, %r1, 4; add.u64 %l0, %l0, %l1;
  ld.global.u32 %r2, [%l0]; add.u32 %r2, %r2, %r0; st.global.u32 [%l0], %r2; ret;
}
.visible .entry forever(.param .u64 words) { A: nanosleep.u32 1000; bra A; }
.visible .entry wait_for(.param .u64 words) {
  .reg .pred %p; .reg .b64 %l; .reg .b32 %r;
  ld.param.u64 %l, [words];
A: ld.acquire.sys.u32 %r, [%l]; nanosleep.u32 500; setp.eq.u32 %p, %r, 0; @%p bra A;
  st.release.sys.u32 [%l+4], %r; ret;
}
// The blocks of a cooperative launch meet as cooperative_groups' grid.sync() does: the first one
// adds 2^31 - (blocks - 1) to a word behind %envreg1:%envreg2, the others 1, so that its sign turns.
.visible .entry together(.param .u64 words) {
  .reg .pred %p<2>; .reg .b64 %l<6>; .reg .b32 %r<9>;
  ld.param.u64 %l0, [words]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %l1, %r0, 4; add.u64 %l2, %l0, %l1;
  mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %l3, {%r2, %r1};
  setp.eq.u64 %p0, %l3, 0; @%p0 bra ALONE;
  st.global.u32 [%l2], 5;
  mov.u32 %r3, %nctaid.x; sub.u32 %r4, 0x80000001, %r3; setp.eq.u32 %p0, %r0, 0;
  selp.b32 %r4, %r4, 1, %p0; atom.add.release.gpu.u32 %r5, [%l3+4], %r4;
A: ld.acquire.gpu.u32 %r6, [%l3+4]; xor.b32 %r6, %r6, %r5; setp.ge.s32 %p1, %r6, 0; @%p1 bra A;
  xor.b32 %r0, %r0, 1; mul.wide.u32 %l1, %r0, 4; add.u64 %l1, %l0, %l1;
  ld.global.u32 %r7, [%l1]; st.global.u32 [%l2+64], %r7; ret;
ALONE: st.global.u32 [%l2], 9; ret;
}
.visible .entry small() .maxntid 64, 1, 1 { ret; }
)";

class EmulatedDriver : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(api().cuInit(0), success);
    ASSERT_EQ(api().cuCtxCreate_v2(&context_, 0, 0), success);
    ASSERT_EQ(api().cuModuleLoadData(&module_, ptx_text), success);
  }
  void TearDown() override {
    EXPECT_EQ(api().cuCtxDestroy_v2(context_), success);
    api().cuCtxSetCurrent(nullptr);
  }

  CUfunction function(const char* name) {
    CUfunction found = nullptr;
    EXPECT_EQ(api().cuModuleGetFunction(&found, module_, name), success) << name;
    return found;
  }
  CUdeviceptr memory(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(api().cuMemAlloc_v2(&address, bytes), success);
    return address;
  }
  CUresult launch(const char* name, CUdeviceptr words, unsigned threads = 1,
                  CUstream stream = nullptr, unsigned shared = 0) {
    std::uint32_t amount = 5;
    void* parameters[] = {&words, &amount};
    return api().cuLaunchKernel(function(name), 1, 1, 1, threads, 1, 1, shared, stream, parameters,
                                nullptr);
  }

  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

#undef K2K_ENTRIES

}  // namespace k2k::emulator::driver
