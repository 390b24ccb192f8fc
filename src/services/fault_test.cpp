// Goal: requests for pages are resolved together without one's error becoming another's, and system
// calls find the pages that their pointers name.

#include "services/fault.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "calls/rows.hpp"

namespace k2k::services {
namespace {

constexpr std::size_t page = backend::demand_page_bytes;

class FaultService : public testing::Test {
 protected:
  backend::RegionHandle make(std::size_t pages) {
    backend::RegionPlan plan;
    plan.name = "test";
    plan.bytes = pages * page;
    return keep(plan);
  }
  backend::RegionHandle make_file(int descriptor, std::size_t pages) {
    backend::RegionPlan plan;
    plan.name = "file";
    plan.bytes = pages * page;
    plan.source = backend::PageSource::file;
    plan.descriptor = descriptor;
    return keep(plan);
  }
  void TearDown() override {
    for (const backend::RegionHandle& region : regions_) backend::retire_region(region);
  }

  static Fault fault(const std::byte* address, std::uint64_t count = 1, bool write = true) {
    Fault made;
    made.request.number = calls::fault_in_number;
    made.request.row = static_cast<std::int16_t>(calls::find(calls::fault_in_number));
    made.request.arguments[0] = reinterpret_cast<std::uint64_t>(address);
    made.request.arguments[1] = count;
    made.request.arguments[2] = write ? 1 : 0;
    return made;
  }
  static bool is_there(const std::byte* address) {
    unsigned char resident = 0;
    const auto first = reinterpret_cast<std::uintptr_t>(address) / page * page;
    EXPECT_EQ(::mincore(reinterpret_cast<void*>(first), page, &resident), 0);
    return (resident & 1) != 0;
  }

 private:
  backend::RegionHandle keep(const backend::RegionPlan& plan) {
    const auto made = backend::create_region(plan);
    if (!made) {
      ADD_FAILURE() << made.error().message;
      std::abort();
    }
    regions_.push_back(made.value());
    return made.value();
  }
  std::vector<backend::RegionHandle> regions_;
};

TEST_F(FaultService, neighbours_and_duplicates_are_one_range) {
  const auto region = make(10);
  std::vector<Fault> faults;
  for (const std::size_t at : {4u, 2u, 3u, 2u, 8u, 9u}) {
    faults.push_back(fault(region.data + at * page + at));
  }
  EXPECT_EQ(resolve(faults, backend::Reading::cached_only), 2u);
  for (const Fault& done : faults) EXPECT_EQ(done.answer.value, 1);
  for (std::size_t at = 0; at < 10; ++at) {
    EXPECT_EQ(is_there(region.data + at * page), (at >= 2 && at <= 4) || at >= 8) << at;
  }
  EXPECT_EQ(backend::region_counters(region).pages, 5u);
}

TEST_F(FaultService, an_error_concerns_nobody_else) {
  const auto region = make(4);
  std::vector<std::byte> foreign(3 * page);
  std::vector<Fault> faults = {fault(region.data + 3 * page), fault(foreign.data() + page),
                               fault(region.data), fault(nullptr),
                               fault(reinterpret_cast<std::byte*>(UINTPTR_MAX - 3), 100)};
  resolve(faults, backend::Reading::cached_only);
  for (const Fault& done : faults) {
    const auto* const at = reinterpret_cast<const std::byte*>(done.request.arguments[0]);
    const bool ours = at >= region.data && at < region.data + 4 * page;
    EXPECT_EQ(done.answer.value, ours ? 1 : -EFAULT) << static_cast<const void*>(at);
  }
}

TEST_F(FaultService, what_is_there_already_is_no_error_and_stays) {
  const auto region = make(3);
  std::vector<Fault> faults = {fault(region.data + page)};
  resolve(faults, backend::Reading::cached_only);
  region.data[page] = std::byte{9};
  faults = {fault(region.data, 3 * page, false)};
  resolve(faults, backend::Reading::cached_only);
  EXPECT_EQ(faults[0].answer.value, static_cast<std::int64_t>(3 * page));
  EXPECT_EQ(region.data[page], std::byte{9});
  EXPECT_EQ(backend::region_counters(region).pages, 3u);
}

TEST_F(FaultService, one_request_brings_in_a_limited_part) {
  const auto region = make(calls::fault_bytes_max / page + 5);
  std::vector<Fault> faults = {fault(region.data, UINT64_MAX)};
  resolve(faults, backend::Reading::cached_only);
  EXPECT_EQ(faults[0].answer.value, static_cast<std::int64_t>(calls::fault_bytes_max));
  faults = {fault(region.data + calls::fault_bytes_max, 0)};
  resolve(faults, backend::Reading::cached_only);
  EXPECT_EQ(faults[0].answer.value, 0);
}

TEST_F(FaultService, the_end_of_a_file_answers_those_behind_it) {
  char path[] = "/tmp/k2k-fault-XXXXXX";
  const int file = ::mkstemp(path);
  ASSERT_GE(file, 0);
  ::unlink(path);
  const std::string content(2 * page + 7, 'e');
  ASSERT_EQ(::write(file, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  const auto region = make_file(file, 6);
  ::close(file);
  std::vector<Fault> faults = {fault(region.data + 2 * page), fault(region.data + 3 * page),
                               fault(region.data + page), fault(region.data + 4 * page)};
  resolve(faults, backend::Reading::blocking);
  EXPECT_EQ(faults[0].answer.value, 1);
  EXPECT_EQ(faults[1].answer.value, 1);
  EXPECT_EQ(faults[2].answer.value, -ENXIO);
  EXPECT_EQ(faults[3].answer.value, -ENXIO);
  EXPECT_EQ(region.data[2 * page + 6], std::byte{'e'});
  EXPECT_EQ(region.data[2 * page + 7], std::byte{0});
}

TEST_F(FaultService, arguments_of_calls_are_brought_in_and_no_more) {
  const auto region = make(8);
  Request request;
  request.number = 17;  // pread
  request.row = static_cast<std::int16_t>(calls::find(17));
  request.arguments[1] = reinterpret_cast<std::uint64_t>(region.data + page + 100);
  request.arguments[2] = 2 * page;
  EXPECT_EQ(bring_in_arguments(request, backend::Reading::cached_only), 0);
  for (std::size_t at = 0; at < 8; ++at) {
    EXPECT_EQ(is_there(region.data + at * page), at >= 1 && at <= 3) << at;
  }
  request.arguments[2] = UINT64_MAX;  // Linux refuses it; we do not wrap around.
  EXPECT_EQ(bring_in_arguments(request, backend::Reading::cached_only), 0);
  EXPECT_TRUE(is_there(region.data + 7 * page));
  EXPECT_FALSE(is_there(region.data));
}

}  // namespace
}  // namespace k2k::services
