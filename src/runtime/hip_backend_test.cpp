// Goal: a runtime with the HIP backend serves the calls of a kernel. HIP's runtime is the one of
// the tests (backend/hip/fake_runtime/); a stand-in acts as the kernel, by the device's side of the
// protocol.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "backend/hip/code_object_fixture.hpp"
#include "backend/hip/fake_runtime/settings.hpp"
#include "backend/hip/hip_kernel.hpp"
#include "device/platform/launch_context.hpp"
#include "k2k/runtime.hpp"
#include "protocol/claim.hpp"

namespace k2k {
namespace {

namespace fake = backend::hip::fake;
using device::platform::LaunchContext;
using protocol::Side;
using protocol::SlotState;

constexpr std::uint32_t calls = 300;
constexpr const char* kernel_name = "_Z10run_kernelI6WriterEvv";

// In memory that host and device share.
struct Shared {
  int descriptor;
  char text[4];
  std::int64_t answers[calls];
};
struct Closure {
  Shared* shared;
};

void* (*reach)(const void*) = nullptr;

template <class T>
T* on_device(T* address) {
  return static_cast<T*>(reach(address));
}

// A work-item that makes many calls, one after the other, from all rows of the area.
int write_many(const fake::Grid&, const void* const* arguments) {
  const auto& context = *static_cast<const LaunchContext*>(arguments[0]);
  Shared& shared = *static_cast<const Closure*>(arguments[1])->shared;
  protocol::AreaView area = context.area;
  area.locks = on_device(area.locks);
  for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
    area.rings[ring].tail = on_device(area.rings[ring].tail);
    area.rings[ring].consumed_seen = on_device(area.rings[ring].consumed_seen);
  }
  for (std::uint32_t call = 0; call < calls; ++call) {
    protocol::Place place{call % area.wave_count, call % area.wave_lanes};
    std::uint32_t generation = 0;
    if (!protocol::try_claim_one(area, place, generation)) return 700;
    protocol::Slot& slot = area.slot(place.wave, place.lane);
    slot.attributes = pack(protocol::Attributes{protocol::Scope::work_item, 0, 0, context.tenant});
    slot.arguments[0] = static_cast<std::uint64_t>(shared.descriptor);
    slot.arguments[1] = reinterpret_cast<std::uint64_t>(shared.text);
    slot.arguments[2] = sizeof(shared.text);
    protocol::move<SlotState::populating, SlotState::ready, Side::device>(slot, SYS_write);
    const protocol::DoorbellRing& ring = area.ring_of(place.wave);
    protocol::ring(ring, protocol::take_ticket(ring), place.wave, std::uint64_t{1} << place.lane);
    while (observe(slot).state != SlotState::finished) ::usleep(20);
    shared.answers[call] = static_cast<std::int64_t>(slot.arguments[protocol::answer_word::value]);
    protocol::move<SlotState::finished, SlotState::free, Side::device>(slot);
    protocol::unlock(area, place.wave, std::uint64_t{1} << place.lane);
  }
  return 0;
}

// The runtime asks for libamdhip64.so.7: that is the name of this library, once it is loaded.
fake::Control& loaded() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  std::string program(path.data(), static_cast<std::size_t>(length));
  const std::string folder = program.substr(0, program.rfind('/'));
  void* const library =
      ::dlopen((folder + "/../backend/hip_runtime/libamdhip64.so.7").c_str(), RTLD_NOW);
  EXPECT_NE(library, nullptr) << ::dlerror();
  reach = reinterpret_cast<void* (*)(const void*)>(::dlsym(library, "k2k_hip_reach"));
  return *static_cast<fake::Control*>(::dlsym(library, "k2k_hip_control"));
}

const backend::DeviceKernel& writer_kernel() {
  static const auto* const image = new backend::hip::FileBytes(
      backend::hip::bundle_of({{kernel_name, {sizeof(LaunchContext), sizeof(Closure)}}}));
  static const backend::hip::HipKernel kernel{image->data(), kernel_name};
  static const auto* const node = new backend::DeviceKernel(
      "hip", [](const char**) -> void* { return const_cast<backend::hip::HipKernel*>(&kernel); });
  return *node;
}

TEST(HipRuntimeTest, a_kernel_s_calls_are_served) {
  loaded().stand_for(kernel_name, write_many);
  static_cast<void>(writer_kernel());
  auto runtime = Runtime::create({.backend = "hip"});
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  EXPECT_EQ(runtime->device().name, "Fake gfx90a");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto memory = runtime->allocate_shared(sizeof(Shared));
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  auto* const shared = static_cast<Shared*>(memory.value());
  shared->descriptor = ends[1];
  std::memcpy(shared->text, "abcd", sizeof(shared->text));

  const Closure closure{shared};
  backend::KernelImage image;
  image.device = &writer_kernel();
  image.closure = &closure;
  image.platform = "hip";
  const auto report = runtime->launch_image({.groups = 1, .group_items = 64}, image);
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (const std::int64_t answer : shared->answers) EXPECT_EQ(answer, 4);
  std::string read(calls * 4, '\0');
  EXPECT_EQ(::read(ends[0], read.data(), read.size()), static_cast<ssize_t>(read.size()));
  EXPECT_EQ(read.substr(0, 8), "abcdabcd");
  runtime->free_shared(memory.value());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(HipRuntimeTest, kernels_of_other_devices_are_refused_with_the_remedy) {
  loaded();
  auto runtime = Runtime::create({.backend = "hip"});
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  const auto report = runtime->launch({}, [] {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ENOEXEC);
  EXPECT_EQ(report.error().message,
            "kernel 'kernel' was compiled for cpu, this runtime's device runs kernels for hip; set "
            "backend = \"cpu\", or compile the kernel for hip");
}

}  // namespace
}  // namespace k2k
