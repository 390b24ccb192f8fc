#pragma once
// For the tests of the HIP backend: the runtime of the tests' own (fake_runtime/), and the
// program's one kernel, as which a stand-in of the test acts.
//
// Threading: the test's.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "backend/hip/code_object_fixture.hpp"
#include "backend/hip/code_objects.hpp"
#include "backend/hip/fake_runtime/settings.hpp"
#include "backend/hip/hip.hpp"
#include "backend/hip/hip_kernel.hpp"
#include "device/platform/launch_context.hpp"

namespace k2k::backend::hip {

using device::platform::LaunchContext;

inline std::string fake_runtime() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string program(path.data(), static_cast<std::size_t>(length));
  return program.substr(0, program.rfind('/')) + "/hip_runtime/libamdhip64.so.7";
}

struct Fake {
  void* library = ::dlopen(fake_runtime().c_str(), RTLD_NOW);
  fake::Control& control = *static_cast<fake::Control*>(::dlsym(library, "k2k_hip_control"));
  void* (*reach)(const void*) = reinterpret_cast<void* (*)(const void*)>(::dlsym(library,
                                                                                 "k2k_hip_reach"));
};
inline Fake& fake_hip() {
  static Fake* const fake = new Fake;
  return *fake;
}

// The address on the host of a word of device memory; stand-ins act as the device.
template <class T>
T* on_device(T* address) {
  return static_cast<T*>(fake_hip().reach(address));
}

struct Closure {
  std::uint64_t* shared = nullptr;
  std::uint32_t value = 0;
};

inline constexpr const char* kernel_name = "_Z10run_kernelI6KernelEvv";
inline const KernelFixture kernel_fixture{kernel_name, {sizeof(LaunchContext), sizeof(Closure)}};

// What the program's one kernel is in this test.
struct Program {
  FileBytes image;
  HipKernel kernel;
  bool known = true;
};
inline Program& program() {
  static auto* const all = new Program;
  return *all;
}
// As a kernel of the program registers itself.
inline const DeviceKernel& device_kernel() {
  static const auto* const node = new DeviceKernel("hip", [](const char** why) -> void* {
    if (program().known) return const_cast<HipKernel*>(&program().kernel);
    *why = "it is not registered";
    return nullptr;
  });
  return *node;
}

class HipBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(fake_hip().library, nullptr) << ::dlerror();
    program().image = bundle_of({kernel_fixture});
    program().kernel = {program().image.data(), kernel_name};
    program().known = true;
    static_cast<void>(device_kernel());
    control_.stand_for(kernel_name, [](const fake::Grid&, const void* const*) { return 0; });
  }
  void TearDown() override {
    control_.failing[0] = '\0';
    EXPECT_EQ(control_.allocations, 0);
    EXPECT_EQ(control_.pinned, 0);
    EXPECT_EQ(control_.streams, 0);
    EXPECT_EQ(control_.modules, 0);
    EXPECT_EQ(control_.entered, 0) << "threads have the program's device again";
  }
  static Result<std::unique_ptr<Backend>> create_fake() { return create_by(fake_runtime(), {}); }
  static std::unique_ptr<Backend> created() {
    auto backend = create_fake();
    EXPECT_TRUE(backend.ok()) << backend.error().message;
    return std::move(backend).value();
  }
  static Error refused() {
    const auto backend = create_fake();
    return backend ? Error{} : backend.error();
  }
  static KernelImage image_of(const Closure& closure) {
    KernelImage image;
    image.device = &device_kernel();
    image.closure = &closure;
    image.name = "test";
    image.platform = "hip";
    return image;
  }
  static Result<LaunchReport> launched(Backend& backend, const Closure& closure = {}) {
    return backend.launch(image_of(closure), {.groups = 3, .group_items = 128});
  }
  fake::Control& control_ = fake_hip().control;
};

inline void expect_text(const Error& error, int code, const std::string& text) {
  EXPECT_EQ(error.code, code);
  EXPECT_EQ(error.message, text);
}

}  // namespace k2k::backend::hip
