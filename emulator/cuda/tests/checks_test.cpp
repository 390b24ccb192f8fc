// What a program on the driver gets of the checks that a variable turns on: sentences in the log,
// and the exit status. Each case is a process of its own, because the variables are read once.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "emulator/cuda/driver/abi.hpp"

namespace k2k::emulator::driver {

namespace {

struct Call {
  void* library = ::dlopen(EMULATED_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  // Calls an entry point, which has to answer success.
  template <class... Arguments>
  void operator()(const char* name, Arguments... arguments) const {
    const auto entry = reinterpret_cast<CUresult (*)(Arguments...)>(::dlsym(library, name));
    if (entry == nullptr || entry(arguments...) != success) {
      std::fprintf(stderr, "%s failed\n", name);
      std::_Exit(1);
    }
  }
};

// Sets the variable, runs `code` by two lanes on memory of their own, and ends.
[[noreturn]] void run_and_exit(const char* variable, const char* value, const std::string& code) {
  ::setenv(variable, value, 1);
  const std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 words) {\n"
      ".shared .align 8 .b8 cells[64]; .reg .b64 %p; .reg .b32 %t, %r<4>; .reg .pred %p0;\n"
      "ld.param.u64 %p, [words]; mov.u32 %t, %tid.x; setp.eq.u32 %p0, %t, 0;\n" +
      code + "\nret; }\n";
  const Call call;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr words = 0;
  call("cuInit", 0u);
  call("cuCtxCreate_v2", &context, 0u, CUdevice{0});
  call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str()));
  call("cuModuleGetFunction", &function, module, "k");
  call("cuMemAlloc_v2", &words, std::size_t{64});
  void* parameters[] = {&words};
  call("cuLaunchKernel", function, 1u, 1u, 1u, 2u, 1u, 1u, 0u, CUstream{nullptr},
       static_cast<void**>(parameters), static_cast<void**>(nullptr));
  call("cuCtxSynchronize");
  call("cuMemFree_v2", words);
  call("cuCtxDestroy_v2", context);
  const auto races =
      reinterpret_cast<unsigned long long (*)()>(::dlsym(call.library, "emulated_cuda_races"));
  std::fprintf(stderr, "races: %llu\n", races());
  std::exit(0);
}

class EmulatedChecksDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(EmulatedChecksDeathTest, of_races_are_exit_status_66) {
  const std::string race = "st.global.u32 [%p], %t;";
  EXPECT_EXIT(run_and_exit("EMULATED_CUDA_RACES", "1", race), testing::ExitedWithCode(66),
              "k2k-emulator: race in kernel k on 4 bytes at 0x.*, byte 0 of an allocation of "
              "64.*\n.*races: 1\n.*1 race between lanes, 0 uninitialised reads; the exit status is "
              "66");
  EXPECT_EXIT(run_and_exit("EMULATED_CUDA_RACES", "1", "@%p0 st.global.u32 [%p], 1;"),
              testing::ExitedWithCode(0), "races: 0");
  EXPECT_EXIT(run_and_exit("EMULATED_CUDA_RACES", "0", race), testing::ExitedWithCode(0),
              "races: 0");
}

TEST_F(EmulatedChecksDeathTest, of_uninitialised_shared_memory_are_exit_status_66) {
  const auto reports = [](const std::string& code, const std::string& words) {
    EXPECT_EXIT(run_and_exit("EMULATED_CUDA_UNINITIALISED", "1", code), testing::ExitedWithCode(66),
                words);
  };
  const auto is_silent = [](const std::string& code) {
    EXPECT_EXIT(run_and_exit("EMULATED_CUDA_UNINITIALISED", "1", code), testing::ExitedWithCode(0),
                "^[^k]*races: 0");
  };
  // Half of the word is written, by the other lane as well.
  reports(
      "st.shared.u16 [cells+8], 1; ld.shared.u32 %r1, [cells+8];",
      "uninitialised shared memory in kernel k: byte 0xa is read at module:7 `ld.shared.u32 "
      "%r1, .cells.8.` by block \\(0,0,0\\), thread \\(0,0,0\\), and no lane of the block wrote "
      "it.*\n.*\n.*0 races between lanes, 1 uninitialised read; the exit status is 66");
  reports("atom.shared.add.u32 %r1, [cells], 1;", "`atom.shared.add.u32");
  reports("ld.shared.v2.u32 {%r1, %r2}, [cells+56];", "byte 0x38");
  is_silent("st.shared.v2.u32 [cells], {%t, %t}; bar.sync 0; ld.shared.u64 %p, [cells];");
  is_silent("atom.shared.cas.b32 %r1, [cells], 7, 8; ld.acquire.cta.shared.u32 %r1, [cells+4];");
  // What lies there is not zero.
  reports("ld.shared.u32 %r1, [cells]; setp.eq.u32 %p0, %r1, 0xcdcdcdcd; @!%p0 trap;", "byte 0x0");
}

TEST_F(EmulatedChecksDeathTest, of_held_back_stores_do_nothing_beside_those_of_races) {
  ::setenv("EMULATED_CUDA_HOLD_STORES", "3", 1);
  EXPECT_EXIT(run_and_exit("EMULATED_CUDA_RACES", "1", ""), testing::ExitedWithCode(0),
              "EMULATED_CUDA_HOLD_STORES does nothing beside EMULATED_CUDA_RACES");
  ::unsetenv("EMULATED_CUDA_HOLD_STORES");
  EXPECT_EXIT(run_and_exit("EMULATED_CUDA_HOLD_STORES", "3", "st.global.u32 [%p], %t;"),
              testing::ExitedWithCode(0), "races: 0");
  EXPECT_EXIT(run_and_exit("EMULATED_CUDA_HOLD_STORES", "x", ""), testing::ExitedWithCode(0),
              "EMULATED_CUDA_HOLD_STORES=x is no number; 0 is used");
}

}  // namespace

}  // namespace k2k::emulator::driver
