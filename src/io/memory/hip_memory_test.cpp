#include "io/memory/hip_memory.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "io/file/files_fixture.hpp"
#include "io/memory/host_copies.hpp"
#include "io/memory/vendor_library_fixture.hpp"

namespace k2k::io {
namespace {

// Against a runtime of the tests' own; the header lists the limits of such a test.
class HipMemoryTest : public testing::Test {
 protected:
  void TearDown() override {
    vendor_.failing[0] = '\0';
    EXPECT_EQ(device_now(), 7) << "the program's device";
    EXPECT_EQ(vendor_.streams, 0);
    EXPECT_EQ(vendor_.events, 0);
    EXPECT_EQ(vendor_.pinned, 0);
    EXPECT_EQ(vendor_.allocations, 0);
  }
  static int device_now() {
    void* const library = ::dlopen(vendor_library().c_str(), RTLD_NOW);
    int device = -1;
    EXPECT_EQ(reinterpret_cast<int (*)(int*)>(::dlsym(library, "hipGetDevice"))(&device), 0);
    return device;
  }
  [[nodiscard]] Error refused(const char* name, int code) const {
    vendor_.fail(name, code);
    const auto memory = make_hip_memory(0, vendor_library());
    if (!memory) return memory.error();
    const auto queue = memory.value()->make_queue(2, page);
    return queue ? Error{} : queue.error();
  }
  vendor::Control& vendor_ = vendor_control();
};

TEST_F(HipMemoryTest, bytes_are_copied_both_ways_on_any_current_device) {
  const auto memory = make_hip_memory(0, vendor_library());
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  EXPECT_STREQ(memory.value()->name(), "hip");
  EXPECT_FALSE(memory.value()->kernel_reaches());
  EXPECT_EQ(memory.value()->can_map().error().code, EOPNOTSUPP);
  const auto device = allocate_hip(10 * page, 0, vendor_library());
  ASSERT_TRUE(device.ok()) << device.error().message;
  auto copies = HostCopies::create(*memory.value(), 2, page);
  ASSERT_TRUE(copies.ok()) << copies.error().message;
  Pages there(10 * page);
  Pages back(10 * page);
  fill(there.span(), 5);
  EXPECT_EQ(copies->to_device(device.value().get(), there.span()), 0);
  EXPECT_EQ(copies->from_device(back.span(), device.value().get()), 0);
  EXPECT_TRUE(holds_content(back.span(), 5));
  EXPECT_EQ(copies->to_device(device.value().get() + page, there.span()), EFAULT) << "beyond it";
  vendor_.fail("hipMemcpyHtoDAsync", 700);
  EXPECT_EQ(copies->to_device(device.value().get(), there.span()), EFAULT);
  vendor_.fail("hipGetDevice", 3);
  EXPECT_EQ(copies->to_device(device.value().get(), there.span()), ENODEV);
  vendor_.fail("hipSetDevice", 101);
  EXPECT_EQ(copies->to_device(device.value().get(), there.span()), EIO);
}

TEST_F(HipMemoryTest, gives_the_reason_of_a_refusal) {
  const auto missing = make_hip_memory(0, "libamdhip-that-is-not-there.so");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ENODEV);
  EXPECT_NE(missing.error().message.find("HIP memory: libamdhip-that-is-not-there.so cannot be "
                                         "loaded"),
            std::string::npos);
  EXPECT_EQ(make_hip_memory(0, "libm.so.6").error().message,
            "HIP memory: the library has no hipInit; install a newer ROCm");
  EXPECT_EQ(refused("hipInit", 2).message,
            "HIP memory: the runtime does not start: hipErrorOutOfMemory (out of memory); see "
            "rocm-smi and dmesg");
  EXPECT_EQ(refused("cuDeviceGetCount", 100).code, ENODEV);
  vendor_.devices = 0;
  EXPECT_NE(refused("", 0).message.find("the runtime shows no device"), std::string::npos);
  vendor_.devices = 1;
  EXPECT_NE(make_hip_memory(1, vendor_library()).error().message.find("there is no device 1"),
            std::string::npos);
  EXPECT_EQ(refused("cuMemHostAlloc", 2).message,
            "HIP memory: the driver could not pin 8192 bytes; take fewer or shorter buffers: "
            "hipErrorOutOfMemory (out of memory)");
  EXPECT_EQ(refused("cuEventCreate", 2).code, ENOMEM);
  if (!make_hip_memory().ok()) {
    EXPECT_NE(make_hip_memory().error().message.find("install ROCm"), std::string::npos);
  }
}

}  // namespace
}  // namespace k2k::io
