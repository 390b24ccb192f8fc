// The HIP backend against a runtime of the tests' own (fake_runtime/): it reads real code objects,
// and a stand-in of the test acts as the kernel. The tests prove the calls, their order, arguments
// and errors; they prove nothing about a device.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/hip/code_object_fixture.hpp"
#include "backend/hip/code_objects.hpp"
#include "backend/hip/hip.hpp"
#include "backend/hip/hip_backend_fixture.hpp"
#include "backend/hip/hip_kernel.hpp"
#include "device/platform/launch_context.hpp"
#include "protocol/claim.hpp"

namespace k2k::backend::hip {
namespace {

TEST_F(HipBackendTest, describes_the_device) {
  const auto backend = created();
  const DeviceInfo& info = backend->info();
  EXPECT_EQ(info.name, "Fake gfx90a");
  EXPECT_EQ(info.platform, "hip");
  EXPECT_EQ(info.wave_lanes, 64u);
  EXPECT_EQ(info.resident_waves, 16u);
  EXPECT_EQ(info.group_items_max, 1024u);
  EXPECT_EQ(info.local_bytes_max, 65'536u);
  EXPECT_FALSE(info.reaches_host_pages);
  EXPECT_GT(info.area_bytes, 16u * 64 * 64);
  EXPECT_EQ(info.capabilities[1].name, "HIP runtime");
  EXPECT_EQ(info.capabilities[1].value, "6.2");
  EXPECT_EQ(backend->area().wave_lanes, 64u);
  EXPECT_EQ(backend->area().wave_count, 16u);
  // Portable, mapped and coherent.
  EXPECT_EQ(control_.pin_flags, 0x40000003u);
}

TEST_F(HipBackendTest, a_kernel_gets_its_context_and_its_closure) {
  control_.stand_for(kernel_name, [](const fake::Grid& grid, const void* const* arguments) {
    const auto& context = *static_cast<const LaunchContext*>(arguments[0]);
    const auto& closure = *static_cast<const Closure*>(arguments[1]);
    *closure.shared = closure.value;
    const auto* const ranges = on_device(context.ranges);
    const bool told = context.range_count == 2 && context.tenant == 5 &&
                      ranges[1].begin == reinterpret_cast<std::uint64_t>(closure.shared);
    const auto* const sites = on_device(context.sites);
    const bool zeroed = sites[0].arrived == 0 && sites[63].done == 0;
    return told && zeroed && grid.groups == 3 && grid.group_items == 128 ? 0 : 700;
  });
  const auto backend = created();
  auto shared = backend->allocate_shared(sizeof(std::uint64_t));
  ASSERT_TRUE(shared.ok());
  const Closure closure{static_cast<std::uint64_t*>(shared.value()), 42};
  const auto report =
      backend->launch(image_of(closure), {.groups = 3, .group_items = 128, .tenant = 5});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(*closure.shared, 42u);
  EXPECT_EQ(control_.modules, 1) << "one module for all launches";
  ASSERT_TRUE(
      backend->launch(image_of(closure), {.groups = 3, .group_items = 128, .tenant = 5}).ok());
  EXPECT_EQ(control_.modules, 1);
  backend->free_shared(shared.value());
}

// A work-item that claims a slot, calls and never takes its answer; the test is the server.
TEST_F(HipBackendTest, rings_the_host_and_is_swept_behind) {
  control_.stand_for(kernel_name, [](const fake::Grid&, const void* const* arguments) {
    const auto& context = *static_cast<const LaunchContext*>(arguments[0]);
    protocol::AreaView area = context.area;
    area.locks = on_device(area.locks);
    area.rings[0].tail = on_device(area.rings[0].tail);
    area.rings[0].consumed_seen = on_device(area.rings[0].consumed_seen);
    constexpr std::uint32_t wave = 15;
    constexpr std::uint32_t lane = 63;
    if (!protocol::try_claim(area, wave, std::uint64_t{1} << lane)) return 700;
    protocol::Slot& slot = area.slot(wave, lane);
    slot.attributes =
        pack(protocol::Attributes{protocol::Scope::work_item, protocol::flag::async, 0, 0});
    protocol::move<protocol::SlotState::populating, protocol::SlotState::ready,
                   protocol::Side::device>(slot, 39);
    protocol::ring(area.rings[0], protocol::take_ticket(area.rings[0]), wave,
                   std::uint64_t{1} << lane);
    return 0;
  });
  const auto backend = created();
  std::thread server([&] {
    std::uint64_t position = 0;
    protocol::Slot& slot = backend->area().slot(15, 63);
    while (!protocol::is_rung(backend->area().rings[0], position)) {
      static_cast<void>(backend->wait_launch(&position, std::chrono::milliseconds(50)));
    }
    EXPECT_EQ(observe(slot).number, 39);
    protocol::move<protocol::SlotState::ready, protocol::SlotState::processing,
                   protocol::Side::host>(slot, 39);
    protocol::move<protocol::SlotState::processing, protocol::SlotState::finished,
                   protocol::Side::host>(slot, 39);
  });
  const auto report = launched(*backend);
  server.join();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->unredeemed_tickets, 1u);
  EXPECT_EQ(observe(backend->area().slot(15, 63)).state, protocol::SlotState::free);
  std::uint64_t lock = 1;
  ASSERT_TRUE(backend->copy(&lock, &backend->area().locks[15], sizeof(lock)).ok());
  EXPECT_EQ(lock, 0u) << "the sweep writes the lock words back";
}

TEST_F(HipBackendTest, a_kernel_that_never_ends_ends_by_cancel) {
  static std::atomic<bool> runs;
  runs = false;
  control_.stand_for(kernel_name, [](const fake::Grid&, const void* const* arguments) {
    const auto& context = *static_cast<const LaunchContext*>(arguments[0]);
    runs = true;
    while (protocol::load_hint(context.cancel) == 0) std::this_thread::yield();
    return 0;
  });
  const auto backend = created();
  bool told = false;
  backend->on_abandon([&] { told = true; });
  std::thread canceller([&] {
    while (!runs) std::this_thread::yield();
    backend->cancel();
  });
  const auto report = launched(*backend);
  canceller.join();
  ASSERT_FALSE(report.ok());
  expect_text(report.error(), ECANCELED, "kernel 'test' was cancelled");
  EXPECT_TRUE(told);
  EXPECT_TRUE(backend->abandoned());
  control_.stand_for(kernel_name, [](const fake::Grid&, const void* const*) { return 0; });
  EXPECT_TRUE(launched(*backend).ok()) << "the next launch is not cancelled";
}

TEST_F(HipBackendTest, a_failing_launch_gives_the_runtime_s_text) {
  const auto backend = created();
  control_.fail("hipModuleLaunchKernel", 1);
  const auto report = launched(*backend);
  ASSERT_FALSE(report.ok());
  expect_text(report.error(), EIO,
              "kernel 'test': the HIP runtime could not launch: hipErrorInvalidValue (invalid "
              "argument); the device's context may be lost: start the process again, with "
              "AMD_LOG_LEVEL=3 to see why");
  EXPECT_EQ(control_.queued, 0) << "no copy of it reads what the next launch writes";
  EXPECT_TRUE(launched(*backend).ok());
}

TEST_F(HipBackendTest, a_kernel_that_faults_gives_the_runtime_s_text) {
  control_.stand_for(kernel_name, [](const fake::Grid&, const void* const*) { return 700; });
  const auto backend = created();
  bool told = false;
  backend->on_abandon([&] { told = true; });
  const auto report = launched(*backend);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, EIO);
  EXPECT_EQ(report.error().message.find("kernel 'test': the HIP runtime could not finish its work: "
                                        "hipErrorIllegalAddress (an illegal memory access was "
                                        "encountered)"),
            0u)
      << report.error().message;
  EXPECT_TRUE(told);
  EXPECT_FALSE(launched(*backend).ok()) << "the stream keeps its error";
}

TEST_F(HipBackendTest, refuses_shapes_and_kernels_of_other_devices) {
  const auto backend = created();
  const Closure closure;
  KernelImage other = image_of(closure);
  other.device = nullptr;
  expect_text(backend->launch(other, {}).error(), EINVAL,
              "kernel 'test': it has no code for this device; compile it with clang for HIP (./dev "
              "build --preset hip)");
  expect_text(backend->launch(image_of(closure), {.group_items = 1025}).error(), EINVAL,
              "kernel 'test': a work-group has 1 to 1024 work-items, not 1025");
  expect_text(backend->launch(image_of(closure), {.groups = 0}).error(), EINVAL,
              "kernel 'test': a launch has 1 to 2,147,483,647 work-groups, not 0");
}

TEST_F(HipBackendTest, code_for_another_architecture_names_those_that_are_there) {
  std::strcpy(control_.architecture, "gfx1030");
  expect_text(refused(), EIO,
              "a kernel of this program cannot be loaded onto Fake gfx1030: hipErrorNoBinaryForGpu "
              "(no kernel image is available for execution on the device); the program has code "
              "for gfx90a, gfx942: rocminfo names the architecture of the device, "
              "K2K_HIP_ARCHITECTURES those of a build");
  std::strcpy(control_.architecture, "gfx942");
  EXPECT_TRUE(create_fake().ok());
  // The bundle says gfx90a, the file in it is for gfx942.
  std::strcpy(control_.architecture, "gfx90a");
  program().image =
      bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a", code_object(0x4c, {kernel_fixture})}});
  program().kernel.image = program().image.data();
  EXPECT_NE(refused().message.find("hipErrorNoBinaryForGpu"), std::string::npos);
}

TEST_F(HipBackendTest, a_kernel_that_cannot_be_loaded_says_why) {
  program().kernel.name = "another";
  expect_text(refused(), EIO,
              "the code of this program for Fake gfx90a has no kernel 'another': hipErrorNotFound "
              "(named symbol not found); build the program again (./dev build --preset hip)");
  program().known = false;
  expect_text(refused(), EIO,
              "a kernel of this program cannot be loaded onto Fake gfx90a: it is not registered; "
              "compile it with clang for HIP (./dev build --preset hip)");
  program().known = true;
  control_.fail("hipModuleLoadData", 2);
  expect_text(refused(), ENOMEM,
              "the HIP runtime could not load a kernel: hipErrorOutOfMemory (out of memory)");
  // A code object that is cut short.
  FileBytes cut = code_object(0x3f, {kernel_fixture});
  cut.resize(cut.size() / 2);
  program().image = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a", cut}});
  program().kernel = {program().image.data(), kernel_name};
  EXPECT_NE(refused().message.find("hipErrorInvalidImage (device kernel image is invalid)"),
            std::string::npos);
}

TEST_F(HipBackendTest, says_what_is_missing) {
  const auto by = [](const char* library) { return create_by(library, {}).error(); };
  const Error missing = by("libamdhip64-that-is-not-there.so");
  EXPECT_EQ(missing.code, ENODEV);
  EXPECT_EQ(missing.message.find("no HIP device can be used: libamdhip64-that-is-not-there.so "
                                 "cannot be loaded (libamdhip64-that-is-not-there.so: cannot open "
                                 "shared object file: No such file or directory); "),
            0u)
      << missing.message;
  EXPECT_NE(missing.message.find("ROCm 6.0 or later"), std::string::npos);
  expect_text(by("libm.so.6"), ENODEV,
              "no HIP device can be used: the HIP runtime has no hipGetErrorName; install ROCm 6.0 "
              "or later, or set backend = \"cpu\"");
  DeviceConfig config;
  config.rings = 9;
  expect_text(create_by("", config).error(), EINVAL, "device.rings is 9; it must be 1 to 8");
}

TEST_F(HipBackendTest, says_why_the_runtime_does_not_serve) {
  control_.version = 50'200'000;
  expect_text(
      refused(), ENODEV,
      "no HIP device can be used: the HIP runtime has version 5.2, kernels need 6.0; install "
      "ROCm 6.0 or later, or set backend = \"cpu\"");
  control_.version = 60'200'000;
  control_.devices = 0;
  expect_text(refused(), ENODEV,
              "no HIP device can be used: the HIP runtime shows none; see rocminfo and "
              "HIP_VISIBLE_DEVICES, or set backend = \"cpu\"");
  control_.devices = 1;
  control_.fail("hipGetDeviceCount", 100);
  expect_text(refused(), ENODEV,
              "no HIP device can be used: hipGetDeviceCount: hipErrorNoDevice (no ROCm-capable "
              "device is detected); see rocminfo, and whether the group render may open /dev/kfd, "
              "or set backend = \"cpu\"");
  control_.fail("hipInit", 999);
  EXPECT_EQ(refused().message.find("no HIP device can be used: hipInit: unknown error (999); "),
            0u);
  control_.fail("hipRuntimeGetVersion", 1);
  EXPECT_EQ(refused().message.find("no HIP device can be used: hipRuntimeGetVersion: "), 0u);
  control_.fail("hipDeviceGetName", 1);
  EXPECT_EQ(refused().message.find("no HIP device can be used: hipDeviceGetName: "), 0u);
  control_.wave_lanes = 32;
  expect_text(refused(), ENODEV,
              "no HIP device can be used: Fake gfx90a has waves of 32 lanes, kernels are compiled "
              "for 64; choose another device with HIP_VISIBLE_DEVICES, or set backend = \"cpu\"");
  control_.wave_lanes = 64;
  control_.compute_units = 0;
  expect_text(
      refused(), ENODEV,
      "no HIP device can be used: the HIP runtime does not say how many waves fit onto Fake "
      "gfx90a; see rocminfo, or set backend = \"cpu\"");
  control_.compute_units = 2;
}

TEST_F(HipBackendTest, says_which_memory_is_refused) {
  control_.fail("hipHostMalloc", 2);
  const Error pinned = refused();
  EXPECT_EQ(pinned.code, ENOMEM);
  EXPECT_EQ(pinned.message.find("the HIP runtime could not pin "), 0u) << pinned.message;
  EXPECT_NE(pinned.message.find(" bytes for the syscall area: hipErrorOutOfMemory (out of memory)"),
            std::string::npos);
  control_.fail("hipMalloc", 2);
  expect_text(
      refused(), ENOMEM,
      "the HIP runtime could not allocate device memory: hipErrorOutOfMemory (out of memory)");
  control_.fail("hipStreamCreateWithFlags", 1);
  expect_text(refused(), EIO,
              "the HIP runtime could not create a stream: hipErrorInvalidValue (invalid argument)");
  control_.fail("hipStreamCreateWithFlags", 1, 1);
  EXPECT_EQ(refused().code, EIO) << "the second one";
  control_.fail("hipMemsetD8Async", 1);
  EXPECT_EQ(refused().code, EIO);
  control_.other_addresses = true;
  const Error elsewhere = refused();
  control_.other_addresses = false;
  EXPECT_EQ(elsewhere.code, EIO);
  EXPECT_NE(elsewhere.message.find("host and device see pinned memory at different addresses"),
            std::string::npos);
  control_.fail("hipHostGetDevicePointer", 1);
  EXPECT_EQ(refused().code, EIO);

  const auto backend = created();
  control_.fail("hipMalloc", 2);
  expect_text(backend->allocate(100).error(), ENOMEM,
              "the HIP runtime could not allocate 100 bytes of device memory: hipErrorOutOfMemory "
              "(out of memory)");
  control_.fail("hipHostMalloc", 2);
  expect_text(backend->allocate_shared(100).error(), ENOMEM,
              "the HIP runtime could not pin 100 bytes of host memory: hipErrorOutOfMemory (out of "
              "memory)");
}

TEST_F(HipBackendTest, the_current_device_of_a_thread_is_restored) {
  const auto backend = created();
  EXPECT_EQ(control_.entered, 0);
  std::thread([&] { EXPECT_TRUE(launched(*backend).ok()); }).join();
  EXPECT_EQ(control_.entered, 0);
  control_.fail("hipGetDevice", 1);  // Calls go to the program's device, which refuses them.
  const auto device = backend->allocate(64);
  EXPECT_EQ(device.ok() ? 0 : device.error().code, EIO);
}

TEST_F(HipBackendTest, serves_kernels_that_the_program_launches_itself) {
  const auto backend = created();
  ForeignKernels* const foreign = backend->foreign_kernels();
  ASSERT_NE(foreign, nullptr);
  EXPECT_EQ(foreign->end().error().code, EINVAL);
  ASSERT_TRUE(foreign->begin().ok());
  EXPECT_EQ(foreign->begin().error().code, EBUSY);
  EXPECT_EQ(launched(*backend).error().code, EBUSY);
  const auto context = foreign->context();
  ASSERT_TRUE(context.ok()) << context.error().message;
  EXPECT_EQ(foreign->context().value(), context.value()) << "the same memory is registered";
  std::uint64_t layout = 0;
  ASSERT_TRUE(backend->copy(&layout, reinterpret_cast<const void*>(context.value()), 8).ok());
  EXPECT_NE(layout, 0u);
  control_.fail("hipDeviceSynchronize", 700);
  expect_text(foreign->end().error(), EIO,
              "the HIP runtime could not wait for the kernels of other libraries: "
              "hipErrorIllegalAddress (an illegal memory access was encountered)");
  ASSERT_TRUE(foreign->begin().ok());
  backend->cancel();
  EXPECT_EQ(foreign->end().error().code, ECANCELED);
  ASSERT_TRUE(foreign->begin().ok());
  EXPECT_TRUE(foreign->end().ok());
}

TEST_F(HipBackendTest, a_forked_child_is_refused_and_may_destroy_its_copy) {
  auto backend = created();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto report = launched(*backend);
    backend.reset();
    ::_exit(report.ok() ? 0 : report.error().code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), EPERM);
}

TEST(HipCodeObjectsTest, the_architectures_of_an_image_are_read) {
  const auto of = [](const FileBytes& image) { return architectures_of(image.data()); };
  EXPECT_EQ(of(bundle_of({kernel_fixture})), "gfx90a, gfx942");
  EXPECT_EQ(of(bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", {}}})),
            "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(of(bundle({{"host-x86_64-unknown-linux--", {}}})), "no architecture");
  EXPECT_EQ(of(code_object(0x3f, {})), "one architecture");
  EXPECT_EQ(architectures_of("CCOB: compressed"), "architectures that this release cannot read");
  FileBytes odd = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a", {}}});
  odd[24] = std::byte{0xff};  // Entries.
  EXPECT_EQ(of(odd), "architectures that this release cannot read");
  odd = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a", {}}});
  odd[49] = std::byte{0xff};  // The second byte of the first length.
  EXPECT_EQ(of(odd), "architectures that this release cannot read");
}

}  // namespace
}  // namespace k2k::backend::hip
