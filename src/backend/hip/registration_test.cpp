#include <gtest/gtest.h>

#include <cstdint>

#include "backend/hip/hip_kernel.hpp"

extern "C" {
void** __hipRegisterFatBinary(const void* wrapper);
void __hipRegisterFunction(void** image, const void* stub, char*, const char* name, unsigned, void*,
                           void*, void*, void*, int*);
void __hipUnregisterFatBinary(void** image);
int hipLaunchKernel();
}

namespace k2k::backend::hip {
namespace {

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* image;
  const void* unused;
};

TEST(HipRegistrationTest, a_stub_leads_to_its_image_and_name_until_the_library_is_closed) {
  const char image[] = "a";
  const char other_image[] = "b";
  int stub = 0;
  int other = 0;
  const Wrapper wrapper{0x48495046, 1, image, nullptr};
  const Wrapper other_wrapper{0x48495046, 1, other_image, nullptr};
  void** const handle = __hipRegisterFatBinary(&wrapper);
  void** const other_handle = __hipRegisterFatBinary(&other_wrapper);
  __hipRegisterFunction(handle, &stub, nullptr, "_Zkernel", ~0u, nullptr, nullptr, nullptr, nullptr,
                        nullptr);
  __hipRegisterFunction(other_handle, &other, nullptr, "_Zother", ~0u, nullptr, nullptr, nullptr,
                        nullptr, nullptr);
  const HipKernel* const kernel = k2k_hip_kernel(&stub);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->image, image);
  EXPECT_STREQ(kernel->name, "_Zkernel");
  EXPECT_EQ(k2k_hip_kernel(&other)->image, other_image);
  EXPECT_EQ(k2k_hip_kernel(image), nullptr) << "no stub";
  __hipUnregisterFatBinary(handle);
  EXPECT_EQ(k2k_hip_kernel(&stub), nullptr);
  EXPECT_NE(k2k_hip_kernel(&other), nullptr);
  __hipUnregisterFatBinary(other_handle);
}

TEST(HipRegistrationDeathTest, says_what_it_does_not_know) {
  const Wrapper unknown{0x12345678, 1, nullptr, nullptr};
  EXPECT_DEATH(__hipRegisterFatBinary(&unknown),
               "does not know .magic 12345678.: compile them with");
  EXPECT_DEATH(hipLaunchKernel(), "launched by <<<>>>.* launch it by k2k::Runtime::launch");
}

}  // namespace
}  // namespace k2k::backend::hip
