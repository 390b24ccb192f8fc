// Memory of the HIP backend: copies, memory given to kernels, and regions with demand paging.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/demand_pages.hpp"
#include "backend/device_regions.hpp"
#include "backend/given_memory.hpp"
#include "backend/hip/hip_backend_fixture.hpp"

namespace k2k::backend::hip {
namespace {

using HipMemoryTest = HipBackendTest;

TEST_F(HipMemoryTest, copies_between_all_kinds_of_memory) {
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

TEST_F(HipMemoryTest, a_device_that_follows_pages_sees_the_host_s_memory) {
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

TEST_F(HipMemoryTest, knows_the_memory_that_it_gave_to_kernels) {
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

TEST_F(HipMemoryTest, a_device_that_follows_pages_has_regions_by_linux) {
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

TEST_F(HipMemoryTest, a_device_that_faults_on_managed_memory_has_regions_in_it) {
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

TEST_F(HipMemoryTest, a_device_without_page_faults_has_no_regions) {
  const auto backend = created();
  expect_text(backend->create_region({.name = "zero", .bytes = demand_page_bytes}).error(), ENOTSUP,
              "the device 'Fake gfx90a' neither reaches pages of the host nor faults on managed "
              "memory; demand-paged regions need backend = \"cpu\"");
}

}  // namespace
}  // namespace k2k::backend::hip
