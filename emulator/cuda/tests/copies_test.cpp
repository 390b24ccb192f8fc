// Races between lanes and the driver's copies: reported where no stream, event or wait orders them,
// silent where one does. Each case is a process of its own, because the variable is read once.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "emulator/cuda/driver/abi.hpp"

namespace k2k::emulator::driver {

namespace {

constexpr std::size_t copied_bytes = 4096;

// A program on the driver: two streams that do not wait for the legacy one, memory of the device
// and of the host. Every call has to succeed.
class Program {
 public:
  Program() {
    ::setenv("EMULATED_CUDA_RACES", "1", 1);
    library_ = ::dlopen(EMULATED_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    CUcontext context = nullptr;
    call("cuInit", 0u);
    call("cuCtxCreate_v2", &context, 0u, CUdevice{0});
    constexpr unsigned non_blocking = 1;
    call("cuStreamCreate", &one, non_blocking);
    call("cuStreamCreate", &other, non_blocking);
    call("cuEventCreate", &event, 0u);
    call("cuMemAlloc_v2", &words, copied_bytes);
    void* address = nullptr;
    call("cuMemHostAlloc", &address, copied_bytes, 0u);
    host = static_cast<std::atomic<std::uint32_t>*>(address);
    call("cuMemHostAlloc", &back, copied_bytes, 0u);
  }

  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const auto entry = reinterpret_cast<CUresult (*)(Arguments...)>(::dlsym(library_, name));
    if (entry == nullptr || entry(arguments...) != success) {
      std::fprintf(stderr, "%s failed\n", name);
      std::_Exit(1);
    }
  }

  // 64 lanes: %q is the lane's word of `words`, %h the host's memory.
  void launch(const std::string& code, CUstream stream) {
    const std::string text =
        ".version 9.0\n.target sm_90\n.address_size 64\n"
        ".global .align 4 .u32 variable;\n"
        ".visible .entry k(.param .u64 words, .param .u64 host) {\n"
        ".reg .b64 %p, %q, %h, %l; .reg .b32 %t, %r<4>; .reg .pred %p0, %p1;\n"
        "ld.param.u64 %p, [words]; ld.param.u64 %h, [host]; mov.u32 %t, %tid.x;\n"
        "mul.wide.u32 %l, %t, 4; add.u64 %q, %p, %l; setp.eq.u32 %p0, %t, 0;\n" +
        code + "\nret; }\n";
    CUfunction function = nullptr;
    call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str()));
    call("cuModuleGetFunction", &function, module, "k");
    CUdeviceptr at = words;
    auto host_at = reinterpret_cast<CUdeviceptr>(host);
    void* parameters[] = {&at, &host_at};
    call("cuLaunchKernel", function, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream,
         static_cast<void**>(parameters), static_cast<void**>(nullptr));
  }
  void copy_back(CUstream stream, std::size_t count = 256, std::size_t from = 0) const {
    call("cuMemcpyDtoHAsync_v2", back, words + from, count, stream);
  }
  void set(CUstream stream) const { call("cuMemsetD32Async", words, 7u, std::size_t{64}, stream); }
  void order(CUstream before, CUstream behind) const {
    call("cuEventRecord", event, before);
    call("cuStreamWaitEvent", behind, event, 0u);
  }
  void wait_for_host_word(std::size_t at) const {
    while (host[at].load(std::memory_order_acquire) == 0) std::this_thread::yield();
  }

  CUmodule module = nullptr;  // Of the last launch.
  CUstream one = nullptr;
  CUstream other = nullptr;
  CUevent event = nullptr;
  CUdeviceptr words = 0;
  std::atomic<std::uint32_t>* host = nullptr;
  void* back = nullptr;

 private:
  void* library_ = nullptr;
};

bool ends_with_threads = false;

[[noreturn]] void run_and_exit(const std::function<void(Program&)>& scene) {
  Program program;
  scene(program);
  program.call("cuCtxSynchronize");
  ends_with_threads = true;
  std::exit(0);
}

class EmulatedCopiesDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void reports(const char* title, const std::function<void(Program&)>& scene,
             const std::string& words) {
  EXPECT_EXIT(run_and_exit(scene), testing::ExitedWithCode(66), words) << title;
}
void is_silent(const char* title, const std::function<void(Program&)>& scene) {
  EXPECT_EXIT(run_and_exit(scene), testing::ExitedWithCode(0), "^$") << title;
}

const std::string write = "st.global.u32 [%q], %t;";
const std::string read = "ld.global.u32 %r1, [%q];";

TEST_F(EmulatedCopiesDeathTest, race_without_an_order) {
  reports(
      "copy behind a kernel",
      [](Program& of) {
        of.launch(write, of.one);
        of.copy_back(of.other);
      },
      "race between kernel k and cuMemcpyDtoHAsync at 0x.*, byte [0-9]+ of the 256 that "
      "cuMemcpyDtoHAsync reads: .*`st.global.u32 .%q., %t` by block \\(0,0,0\\), thread .*; no "
      "stream, event or wait of the host orders the two. Needed: one stream for both, "
      "cuStreamWaitEvent");
  reports(
      "copy behind a kernel that has ended, and behind another launch",
      [](Program& of) {
        of.launch(write + "\nbar.sync 0; @%p0 st.relaxed.sys.u32 [%h], 1;", of.one);
        of.wait_for_host_word(0);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        of.launch("", of.other);
        of.call("cuStreamSynchronize", of.other);
        of.copy_back(of.other);
      },
      "a plain write at module:.*`st.global.u32 .%q., %t` .*, then the call cuMemcpyDtoHAsync");
  reports(
      "a variable of the module",
      [](Program& of) {
        of.launch("@%p0 st.global.u32 [variable], 1;", of.one);
        CUdeviceptr variable = 0;
        std::size_t size = 0;
        std::uint32_t word = 0;
        of.call("cuModuleGetGlobal_v2", &variable, &size, of.module, "variable");
        of.call("cuMemcpyDtoH_v2", static_cast<void*>(&word), variable, size);
      },
      "st.global.u32 .variable., 1`");
  reports(
      "set before a kernel",
      [](Program& of) {
        of.set(of.one);
        of.launch(read, of.other);
      },
      "byte [0-9]+ of the 256 that cuMemsetD32Async writes: ");
  reports(
      "a wait of the host that comes behind the launch",
      [](Program& of) {
        of.call("cuLaunchHostFunc", of.other, CUhostFn([](void* word) {
                  while (static_cast<std::atomic<std::uint32_t>*>(word)->load() == 0) {
                    std::this_thread::yield();
                  }
                }),
                static_cast<void*>(of.host));
        of.launch(read, of.other);
        of.set(of.one);
        of.call("cuStreamSynchronize", of.one);
        of.host[0].store(1);
      },
      "the call cuMemsetD32Async, then a plain read");
  reports(
      "an event recorded too early",
      [](Program& of) {
        of.order(of.one, of.other);
        of.launch(write, of.one);
        of.copy_back(of.other);
      },
      "cuMemcpyDtoHAsync");
  reports(
      "a kernel that runs, and a copy into its memory",
      [](Program& of) {
        of.launch(
            "@!%p0 bra END; st.relaxed.sys.u32 [%h], 1;\n"
            "SPIN: ld.relaxed.sys.u32 %r1, [%h+64]; setp.eq.u32 %p1, %r1, 0; @%p1 bra SPIN;\n" +
                read + "\nEND:",
            of.one);
        of.wait_for_host_word(0);
        of.set(of.other);
        of.call("cuStreamSynchronize", of.other);
        of.host[16].store(1, std::memory_order_release);
      },
      "the call cuMemsetD32Async, then a plain read at module:.*`ld.global.u32 %r1, .%q.`");
  reports(
      "what a lane did not release",
      [](Program& of) {
        of.launch("@!%p0 bra END; " + write +
                      " st.relaxed.sys.u32 [%h], 1;\n"
                      "SPIN: ld.relaxed.sys.u32 %r1, [%h+64]; setp.eq.u32 %p1, %r1, 0; @%p1 bra "
                      "SPIN;\nEND:",
                  of.one);
        of.wait_for_host_word(0);
        of.copy_back(of.other, 4);
        of.host[16].store(1, std::memory_order_release);
      },
      "a plain write at module:.*`st.global.u32 .%q., %t` .*, then the call cuMemcpyDtoHAsync");
}

TEST_F(EmulatedCopiesDeathTest, are_silent_in_order) {
  is_silent("one stream", [](Program& of) {
    of.set(of.one);
    of.launch(write, of.one);
    of.copy_back(of.one);
  });
  is_silent("events", [](Program& of) {
    of.set(of.other);
    of.order(of.other, of.one);
    of.launch(write, of.one);
    of.order(of.one, of.other);
    of.copy_back(of.other);
  });
  is_silent("waits for a stream", [](Program& of) {
    of.set(of.other);
    of.call("cuStreamSynchronize", of.other);
    of.launch(write, of.one);
    of.call("cuStreamSynchronize", of.one);
    of.copy_back(of.other);
  });
  is_silent("waits for an event, and for all", [](Program& of) {
    of.launch(write, of.one);
    of.call("cuEventRecord", of.event, of.one);
    of.call("cuEventSynchronize", of.event);
    of.copy_back(of.other);
    of.call("cuCtxSynchronize");
    of.launch(write, of.one);
  });
  is_silent("copies that wait themselves", [](Program& of) {
    of.call("cuMemsetD32_v2", of.words, 1u, std::size_t{64});
    of.launch(write, of.one);
    of.call("cuStreamSynchronize", of.one);
    std::uint32_t word = 0;
    of.call("cuMemcpyDtoH_v2", static_cast<void*>(&word), of.words, sizeof word);
    of.launch(write, of.other);
  });
  is_silent("the legacy stream and one that waits for it", [](Program& of) {
    CUstream blocking = nullptr;
    of.call("cuStreamCreate", &blocking, 0u);
    of.launch(write, blocking);
    of.copy_back(nullptr);
    of.launch(write, blocking);
  });
  is_silent("a function of the host", [](Program& of) {
    of.launch(write, of.one);
    std::atomic<bool> done{false};
    of.call("cuLaunchHostFunc", of.one,
            CUhostFn([](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }),
            static_cast<void*>(&done));
    while (!done.load()) std::this_thread::yield();
    of.copy_back(of.other);
  });
  is_silent("queries", [](Program& of) {
    of.launch(write, of.one);
    const auto query = reinterpret_cast<CUresult (*)(CUstream)>(
        ::dlsym(::dlopen(EMULATED_CUDA_LIBRARY, RTLD_NOW), "cuStreamQuery"));
    while (query(of.one) != success) std::this_thread::yield();
    of.copy_back(of.other);
  });
}

TEST_F(EmulatedCopiesDeathTest, are_silent_apart) {
  is_silent("two that read", [](Program& of) {
    of.launch(read, of.one);
    of.copy_back(of.other);
  });
  is_silent("other bytes", [](Program& of) {
    of.launch(write, of.one);
    of.copy_back(of.other, 256, 256);
  });
  is_silent("memory given back and taken anew", [](Program& of) {
    alignas(copied_bytes) static char memory[copied_bytes];
    of.words = reinterpret_cast<CUdeviceptr>(memory);
    of.call("cuMemHostRegister_v2", static_cast<void*>(memory), copied_bytes, 0u);
    of.set(of.other);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    of.call("cuMemHostUnregister", static_cast<void*>(memory));
    of.call("cuMemHostRegister_v2", static_cast<void*>(memory), copied_bytes, 0u);
    of.launch(write, of.one);
  });
  // Kernels poll words that a call sets.
  is_silent("atomic accesses of the system", [](Program& of) {
    of.set(nullptr);
    of.call("cuCtxSynchronize");
    of.launch("SPIN: ld.relaxed.sys.u32 %r1, [%p]; setp.eq.u32 %p1, %r1, 7; @%p1 bra SPIN;",
              of.one);
    of.call("cuMemsetD32Async", of.words, 8u, std::size_t{1}, of.other);
  });
}

// A kernel that runs and the host pass memory to each other by words of the host's memory.
TEST_F(EmulatedCopiesDeathTest, are_silent_where_host_and_lanes_tell_each_other) {
  const std::string ask = "st.release.sys.u32 [%h], 1;\n";
  const std::string answer =
      "SPIN: ld.acquire.sys.u32 %r1, [%h+64]; setp.eq.u32 %p1, %r1, 0; @%p1 bra SPIN;\n";
  is_silent("a lane releases, the host copies, and the other way round", [&](Program& of) {
    of.launch(write + "\nbar.sync 0; @!%p0 bra END;\n" + ask + answer + "END: bar.sync 0;\n" + read,
              of.one);
    of.wait_for_host_word(0);
    of.copy_back(of.other);
    of.set(of.other);
    of.call("cuStreamSynchronize", of.other);
    of.host[16].store(1, std::memory_order_release);
  });
  is_silent("a kernel that has ended meanwhile", [&](Program& of) {
    of.launch(write + "\nbar.sync 0; @%p0 " + ask, of.one);
    of.wait_for_host_word(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    of.copy_back(of.other);
  });
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// LeakSanitizer crashes now and then where threads of streams end while it stops the process.
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() {
  return ends_with_threads ? 1 : 0;
}
#endif

}  // namespace k2k::emulator::driver
