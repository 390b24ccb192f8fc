// The HIP backend against a runtime of the tests' own (fake_runtime/): it reads real code objects,
// and a stand-in of the test acts as the kernel. The tests prove the calls, their order, arguments
// and errors; they prove nothing about a device.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
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

#include "backend/demand_pages.hpp"
#include "backend/device_regions.hpp"
#include "backend/given_memory.hpp"
#include "backend/hip/code_object_fixture.hpp"
#include "backend/hip/code_objects.hpp"
#include "backend/hip/fake_runtime/settings.hpp"
#include "backend/hip/hip.hpp"
#include "backend/hip/hip_kernel.hpp"
#include "device/platform/launch_context.hpp"
#include "protocol/claim.hpp"

namespace k2k::backend::hip {
namespace {

using device::platform::LaunchContext;

std::string fake_runtime() {
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
Fake& fake_hip() {
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

constexpr const char* kernel_name = "_Z10run_kernelI6KernelEvv";
const KernelFixture kernel_fixture{kernel_name, {sizeof(LaunchContext), sizeof(Closure)}};

// What the program's one kernel is in this test.
struct Program {
  FileBytes image;
  HipKernel kernel;
  bool known = true;
};
Program& program() {
  static auto* const all = new Program;
  return *all;
}
// As a kernel of the program registers itself.
const DeviceKernel& device_kernel() {
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

void expect_text(const Error& error, int code, const std::string& text) {
  EXPECT_EQ(error.code, code);
  EXPECT_EQ(error.message, text);
}

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

TEST_F(HipBackendTest, copies_between_all_kinds_of_memory) {
  const auto backend = created();
  auto device = backend->allocate(256);
  auto shared = backend->allocate_shared(256);
  ASSERT_TRUE(device.ok() && shared.ok());
  std::array<char, 256> own{};
  ASSERT_TRUE(backend->copy(own.data(), device.value(), own.size()).ok());
  EXPECT_EQ(own, (std::array<char, 256>{})) << "device memory is zeroed";
  own.fill('x');
  ASSERT_TRUE(backend->copy(device.value(), own.data(), own.size()).ok());
  ASSERT_TRUE(backend->copy(shared.value(), device.value(), own.size()).ok());
  EXPECT_EQ(std::memcmp(shared.value(), own.data(), own.size()), 0);
  EXPECT_TRUE(backend->host_may_access(shared.value(), 256));
  EXPECT_FALSE(backend->host_may_access(device.value(), 1));
  EXPECT_FALSE(backend->host_may_access(own.data(), 1)) << "the device cannot address it";
  expect_text(backend->copy(static_cast<char*>(device.value()) + 128, own.data(), 256).error(), EIO,
              "the HIP runtime could not copy 256 bytes: hipErrorInvalidValue (invalid argument)");
  backend->free(device.value());
  backend->free_shared(shared.value());
}

TEST_F(HipBackendTest, a_device_that_follows_pages_sees_the_host_s_memory) {
  control_.pageable = true;
  const auto backend = created();
  control_.pageable = false;
  EXPECT_TRUE(backend->info().reaches_host_pages);
  int own = 0;
  EXPECT_TRUE(backend->host_may_access(&own, sizeof(own)));
  auto device = backend->allocate(256);
  ASSERT_TRUE(device.ok());
  EXPECT_FALSE(backend->host_may_access(device.value(), 1));
  backend->free(device.value());
}

TEST_F(HipBackendTest, knows_the_memory_that_it_gave_to_kernels) {
  control_.pageable = true;
  const auto backend = created();
  control_.pageable = false;
  auto* const shared = static_cast<char*>(backend->allocate_shared(4096).value());
  void* const device = backend->allocate(256).value();
  RegionPlan plan;
  plan.name = "given";
  plan.bytes = 2 * demand_page_bytes;
  Result<RegionHandle> region = backend->create_region(plan);
  ASSERT_TRUE(region.ok()) << region.error().message;
  const std::vector<char> own(4096);
  for (const bool only_read : {false, true}) {
    const auto gave = [&](const void* address, std::size_t bytes) {
      return backend->info().kernel_memory->gave_to_kernels(address, bytes, only_read);
    };
    EXPECT_TRUE(gave(shared, 4096));
    EXPECT_TRUE(gave(shared + 4095, 1));
    EXPECT_FALSE(gave(shared + 4095, 2));
    EXPECT_FALSE(gave(shared - 1, 2));
    EXPECT_TRUE(gave(device, 256));
    EXPECT_TRUE(gave(region.value().data, plan.bytes));
    EXPECT_FALSE(gave(region.value().data, plan.bytes + 1));
    EXPECT_FALSE(gave(own.data(), 1)) << "the host may, and kernels may not";
    EXPECT_FALSE(gave(backend->area().slots, 8)) << "K2K's own";
  }
  const void* const pages = region.value().data;
  retire_region(std::move(region).value());
  EXPECT_FALSE(backend->info().kernel_memory->gave_to_kernels(pages, 1, false))
      << "no kernel runs: it is gone";
  backend->free(device);
  backend->free_shared(shared);
  EXPECT_FALSE(backend->info().kernel_memory->gave_to_kernels(shared, 1, false));
}

// A region with a file's first two pages and 100 bytes of the third.
class RegionFile {
 public:
  RegionFile() : descriptor_(::memfd_create("region", MFD_CLOEXEC)) {
    const std::vector<char> bytes(2 * demand_page_bytes + 100, 'f');
    EXPECT_EQ(::write(descriptor_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  ~RegionFile() { ::close(descriptor_); }
  RegionFile(const RegionFile&) = delete;
  RegionFile& operator=(const RegionFile&) = delete;
  [[nodiscard]] RegionPlan plan(std::size_t pages, std::int64_t offset = 0) const {
    return {.name = "records",
            .bytes = pages * demand_page_bytes,
            .source = PageSource::file,
            .descriptor = descriptor_,
            .offset = offset};
  }

 private:
  int descriptor_;
};

void expect_sources(Backend& backend) {
  const RegionFile file;
  const std::vector<std::byte> from(demand_page_bytes, std::byte{'c'});
  const auto zero = backend.create_region({.name = "zero", .bytes = demand_page_bytes});
  const auto copy = backend.create_region({.name = "copy",
                                           .bytes = demand_page_bytes,
                                           .source = PageSource::copy,
                                           .copy_from = from.data()});
  const auto whole = backend.create_region(file.plan(3));
  const auto part = backend.create_region(file.plan(1, 101));  // No offset of a page.
  ASSERT_TRUE(zero.ok() && copy.ok() && whole.ok() && part.ok());
  EXPECT_EQ(zero->data[0], std::byte{0});
  EXPECT_EQ(copy->data[demand_page_bytes - 1], std::byte{'c'});
  EXPECT_EQ(whole->data[2 * demand_page_bytes + 99], std::byte{'f'});
  EXPECT_EQ(whole->data[2 * demand_page_bytes + 100], std::byte{0}) << "behind the end";
  EXPECT_EQ(part->data[demand_page_bytes - 1], std::byte{'f'});
  EXPECT_EQ(region_counters(*whole).pages, 0u);
  expect_text(backend.create_region({.name = "odd", .bytes = 5}).error(), EINVAL,
              "demand region 'odd': 5 bytes; a region has whole pages of 4096 bytes, at least one");
  for (const auto* const each : {&zero, &copy, &whole, &part}) retire_region(each->value());
}

TEST_F(HipBackendTest, a_device_that_follows_pages_has_regions_by_linux) {
  control_.pageable = true;
  const auto backend = created();
  control_.pageable = false;
  expect_sources(*backend);
  EXPECT_EQ(control_.allocations, 1) << "none but the backend's own";
  const RegionFile file;
  auto beyond = backend->create_region(file.plan(4));
  ASSERT_TRUE(beyond.ok());
  const auto begin = reinterpret_cast<std::uintptr_t>(beyond->data);
  EXPECT_EQ(touch_pages(begin + 1, 3 * demand_page_bytes - 1), 0);
  EXPECT_EQ(touch_pages(begin, 4 * demand_page_bytes), ENXIO) << "the file has no fourth page";
  {
    // A kernel that runs may still have the address: it stays taken, and empty.
    const KernelRuns kernel;
    retire_region(std::move(beyond).value());
    void* const others = ::mmap(reinterpret_cast<void*>(begin), demand_page_bytes, PROT_READ,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT_EQ(others, MAP_FAILED);
    const int sink = ::memfd_create("sink", MFD_CLOEXEC);
    EXPECT_EQ(::write(sink, reinterpret_cast<void*>(begin), 1), -1) << "no access is permitted";
    EXPECT_EQ(errno, EFAULT);
    ::close(sink);
  }
  void* const others = ::mmap(reinterpret_cast<void*>(begin), demand_page_bytes, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  EXPECT_EQ(others, reinterpret_cast<void*>(begin)) << "free when the kernel has ended";
  ::munmap(others, demand_page_bytes);
  const RegionPlan closed{.name = "records",
                          .bytes = demand_page_bytes,
                          .source = PageSource::file,
                          .descriptor = 1'000'000};
  expect_text(backend->create_region(closed).error(), EBADF,
              "demand region 'records': descriptor 1000000 cannot be mapped: Bad file descriptor");
}

TEST_F(HipBackendTest, a_device_that_faults_on_managed_memory_has_regions_in_it) {
  control_.managed = true;
  auto backend = created();
  control_.managed = false;
  EXPECT_TRUE(backend->info().faults_on_managed);
  expect_sources(*backend);
  EXPECT_EQ(control_.allocations, 1) << "all are given back";
  const RegionFile file;
  expect_text(backend->create_region(file.plan(4)).error(), ENXIO,
              "demand region 'records': the file ends 8292 bytes behind the offset; ask for 12288 "
              "bytes");
  const RegionPlan closed{.name = "records",
                          .bytes = demand_page_bytes,
                          .source = PageSource::file,
                          .descriptor = 1'000'000};
  expect_text(backend->create_region(closed).error(), EBADF,
              "demand region 'records': descriptor 1000000 cannot be read: Bad file descriptor");
  control_.fail("hipMallocManaged", 2);
  expect_text(backend->create_region(file.plan(1)).error(), ENOMEM,
              "the HIP runtime could not allocate 4096 bytes for demand region 'records': "
              "hipErrorOutOfMemory (out of memory)");
  control_.failing[0] = '\0';
  auto later = backend->create_region(file.plan(1));
  ASSERT_TRUE(later.ok());
  {
    const KernelRuns kernel;
    retire_region(std::move(later).value());
    EXPECT_EQ(control_.allocations, 2) << "a kernel may still use it";
  }
  EXPECT_EQ(control_.allocations, 1);
  auto longest = backend->create_region(file.plan(1));
  ASSERT_TRUE(longest.ok());
  backend.reset();
  EXPECT_EQ(longest->data[0], std::byte{'f'}) << "it may outlive the device";
  retire_region(std::move(longest).value());
}

TEST_F(HipBackendTest, a_device_without_page_faults_has_no_regions) {
  const auto backend = created();
  expect_text(backend->create_region({.name = "zero", .bytes = demand_page_bytes}).error(), ENOTSUP,
              "the device 'Fake gfx90a' neither reaches pages of the host nor faults on managed "
              "memory; demand-paged regions need backend = \"cpu\"");
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
