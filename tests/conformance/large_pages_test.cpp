// Goal: the pages of a region may have 2 MiB. Each is filled by one fault and discarded as one, and
// ranges that are not whole pages are refused or rounded as Linux does for huge pages.

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "tests/conformance/faults_fixture.hpp"

namespace k2k::conformance::large_pages_test {
namespace {

constexpr std::size_t large = std::size_t{2} << 20;

class LargePages : public Faults {
 protected:
  // Of Linux' small pages.
  static std::size_t resident(const DemandRegion& region, std::size_t at) {
    std::array<unsigned char, large / page> present{};
    EXPECT_EQ(::mincore(region.data() + at * large, large, present.data()), 0);
    return static_cast<std::size_t>(
        std::count_if(present.begin(), present.end(), [](unsigned char one) { return one & 1; }));
  }
};
K2K_EVERY_DEVICE(LargePages);

// Its content differs from page to page.
std::string content_of(std::size_t bytes) {
  std::string content(bytes, '\0');
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    content[byte] = static_cast<char>('a' + (byte / page + byte) % 23);
  }
  return content;
}

TEST_P(LargePages, are_filled_whole_by_one_fault) {
  Runtime runtime = start();
  const std::string content = content_of(2 * large);
  const TemporaryFile file("123" + content);
  const DemandRegionOptions options{.page_bytes = large};
  const DemandRegion zeros = made(DemandRegion::zero(runtime, 2 * large, options));
  const DemandRegion copy =
      made(DemandRegion::copy_of(runtime, content.data(), 2 * large, options));
  const DemandRegion pages = made(DemandRegion::file(runtime, file.fd, 3, 2 * large, options));
  std::array<char, 3> seen{};
  launch(runtime, 1, 1, [&] {
    seen = {zeros.as<char>()[large + 7], copy.as<char>()[2 * large - 1],
            pages.as<char>()[large + 4 * page]};
  });
  EXPECT_EQ(seen, (std::array<char, 3>{'\0', content[2 * large - 1], content[large + 4 * page]}));
  EXPECT_EQ(requests(runtime), 3u);
  for (const DemandRegion* const region : {&zeros, &copy, &pages}) {
    EXPECT_EQ(region->page_bytes(), large);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region->data()) % large, 0u);
    EXPECT_EQ(region->counters().pages, 1u);
    EXPECT_EQ(resident(*region, 0), 0u);
    EXPECT_EQ(resident(*region, 1), large / page);
  }
  EXPECT_EQ(std::memcmp(copy.data() + large, content.data() + large, large), 0);
  EXPECT_EQ(std::memcmp(pages.data() + large, content.data() + large, large), 0);
  const char* const zeroed = zeros.as<const char>();
  EXPECT_EQ(std::count(zeroed + large, zeroed + 2 * large, '\0'),
            static_cast<std::ptrdiff_t>(large));
}

TEST_P(LargePages, keep_writes_of_many_work_items) {
  Runtime runtime = start();
  const std::uint32_t items = scaled(64, 32);
  const DemandRegion region = made(DemandRegion::zero(runtime, 3 * large, {.page_bytes = large}));
  auto* const words = region.as<std::uint64_t>();
  constexpr std::size_t all = 3 * large / sizeof(std::uint64_t);
  const std::size_t step = all / (2 * items);
  launch(runtime, 2, items, [&] { words[global_rank() * step] += global_rank() + 1; });
  for (std::size_t item = 0; item < 2 * items; ++item) ASSERT_EQ(words[item * step], item + 1);
  EXPECT_EQ(region.counters().pages, 3u);
  EXPECT_LE(requests(runtime), 3u * 2u * items / runtime.device().wave_lanes);
}

TEST_P(LargePages, end_in_zeros_where_the_file_ends) {
  Runtime runtime = start();
  const std::string content = content_of(large + 5 * page + 17);
  const TemporaryFile file(content);
  const DemandRegion region = made(
      DemandRegion::file(runtime, file.fd, 0, 3 * large, {.name = "grid", .page_bytes = large}));
  const char* const bytes = region.as<const char>();
  std::array<char, 3> seen{};
  launch(runtime, 1, 1, [&] {
    seen = {bytes[large + 5 * page + 16], bytes[large + 5 * page + 17], bytes[2 * large - 1]};
  });
  EXPECT_EQ(seen, (std::array<char, 3>{content.back(), '\0', '\0'}));
  const std::string text =
      failure_of(runtime.launch({1, 1}, [&] { seen[0] = bytes[2 * large]; }, "reader"));
  EXPECT_NE(text.find("demand region 'grid'"), std::string::npos) << text;
  EXPECT_NE(text.find("the file ends before this page"), std::string::npos) << text;
}

TEST_P(LargePages, are_resolved_in_place_and_by_populate_and_for_system_calls) {
  Runtime runtime = start();
  const std::string content = content_of(large);
  const TemporaryFile file(content);
  const DemandRegion here = made(DemandRegion::file(
      runtime, file.fd, 0, large, {.handling = FaultHandling::in_place, .page_bytes = large}));
  DemandRegion filled = made(DemandRegion::zero(runtime, 3 * large, {.page_bytes = large}));
  const DemandRegion read = made(DemandRegion::zero(runtime, 2 * large, {.page_bytes = large}));
  ASSERT_TRUE(filled.populate(large + 1, 1).ok());
  EXPECT_EQ(filled.counters().pages, 1u);
  EXPECT_EQ(resident(filled, 1), large / page);
  char seen = 0;
  long count = 0;
  launch(runtime, 1, 1, [&] {
    seen = here.as<const char>()[large / 2];
    count = k2k::pread(k2k::work_item, file.fd, read.data() + large - 100, 5 * page, 0);
  });
  EXPECT_EQ(seen, content[large / 2]);
  EXPECT_EQ(here.counters().in_place, 1u);
  EXPECT_EQ(count, static_cast<long>(5 * page));
  EXPECT_EQ(std::memcmp(read.data() + large - 100, content.data(), 5 * page), 0);
  EXPECT_EQ(read.counters().pages, 2u);
}

TEST_P(LargePages, are_discarded_whole) {
  Runtime runtime = start();
  std::string content(2 * large, 'a');
  DemandRegion region =
      made(DemandRegion::copy_of(runtime, content.data(), 2 * large, {.page_bytes = large}));
  char* const bytes = region.as<char>();
  launch(runtime, 1, 1, [&] { bytes[5] = bytes[large + 5] = '!'; });
  std::fill(content.begin(), content.end(), 'b');
  const auto refused = [&](std::size_t offset, std::size_t size) {
    const Status status = region.discard(offset, size);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(refused(0, page),
            "bytes 0 to 4096 of a demand region are not whole pages of 2097152 bytes; only pages "
            "can be discarded");
  EXPECT_NE(refused(page, large).find("not whole pages of 2097152"), std::string::npos);
  EXPECT_EQ(refused(large, large), "");
  std::array<char, 3> seen{};
  launch(runtime, 1, 1, [&] { seen = {bytes[5], bytes[large + 5], bytes[2 * large - 1]}; });
  EXPECT_EQ(seen, (std::array<char, 3>{'!', 'b', 'b'}));
  EXPECT_EQ(region.counters().pages, 3u);
  EXPECT_EQ(region.counters().discards, 1u);
}

TEST_P(LargePages, are_rounded_by_madvise_of_kernels_as_huge_pages_of_linux) {
  Runtime runtime = start();
  const DemandRegion region = made(DemandRegion::zero(runtime, 3 * large, {.page_bytes = large}));
  char* const bytes = region.as<char>();
  std::array<long, 5> answers{};
  std::array<char, 3> seen{};
  launch(runtime, 1, 1, [&] {
    for (std::size_t at = 0; at < 3; ++at) bytes[at * large] = '!';
    answers[0] = k2k::madvise(k2k::work_item, bytes + page, large, MADV_DONTNEED);
    answers[1] = k2k::madvise(k2k::work_item, bytes, large - page, MADV_DONTNEED);  // No page.
    answers[2] = k2k::madvise(k2k::work_item, bytes + large, large + page, MADV_DONTNEED);
    answers[3] = k2k::madvise(k2k::work_item, bytes + large, 0, MADV_DONTNEED);
    // Up to Linux' own pages it rounds up first.
    answers[4] = k2k::madvise(k2k::work_item, bytes + 2 * large, large - 1, MADV_WILLNEED);
    seen = {bytes[0], bytes[large], bytes[2 * large]};
  });
  EXPECT_EQ(answers[0], -EINVAL);
  EXPECT_EQ(answers[1], 0);
  EXPECT_EQ(answers[2], 0);
  EXPECT_EQ(answers[3], 0);
  EXPECT_EQ(seen, (std::array<char, 3>{'!', '\0', '!'}));
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::madvise(k2k::work_item, bytes + 2 * large, large - 1, MADV_DONTNEED);
    seen[0] = bytes[2 * large];
  });
  EXPECT_EQ(answers[0], 0);
  EXPECT_EQ(seen[0], '\0');
}

TEST_P(LargePages, without_memory_for_one_are_an_error) {
#if defined(K2K_TSAN) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer needs an address space without limits";
#endif
  Runtime runtime = start();
  DemandRegion region = made(DemandRegion::zero(runtime, large, {.page_bytes = large}));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit none{1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
  const Status refused = region.populate(0, 1);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ENOMEM);
  EXPECT_EQ(refused.error().message,
            "a page of the demand region in bytes 0 to 1 cannot be brought in: Cannot allocate "
            "memory");
  EXPECT_TRUE(region.populate(0, 1).ok());
  EXPECT_EQ(region.counters().pages, 1u);
}

TEST_P(LargePages, of_a_source_that_is_gone_end_the_launch) {
  Runtime runtime = start();
  void* const source =
      ::mmap(nullptr, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(source, MAP_FAILED);
  const DemandRegion region =
      made(DemandRegion::copy_of(runtime, source, large, {.name = "gone", .page_bytes = large}));
  // Not unmapped: other memory could come there.
  ASSERT_EQ(::mprotect(source, large, PROT_NONE), 0);
  const char* const bytes = region.as<const char>();
  char seen = 0;
  const std::string text = failure_of(runtime.launch({1, 1}, [&] { seen = bytes[9]; }, "reader"));
  EXPECT_NE(text.find("demand region 'gone'"), std::string::npos) << text;
  EXPECT_NE(text.find("Bad address"), std::string::npos) << text;
  ::munmap(source, large);
}

TEST_P(LargePages, of_another_size_and_of_parts_are_refused) {
  Runtime runtime = start();
  const auto refusal = [&](std::size_t bytes, std::size_t page_bytes) {
    const auto region =
        DemandRegion::zero(runtime, bytes, {.name = "grid", .page_bytes = page_bytes});
    return region.ok() ? std::to_string(region.value().bytes())
                       : std::to_string(region.error().code) + " " + region.error().message;
  };
  const std::string of_size = std::to_string(EINVAL) + " demand region 'grid': pages of ";
  for (const std::size_t other : {std::size_t{0}, std::size_t{5000}, 2 * page, large - page,
                                  2 * large, std::size_t{1} << 30}) {
    EXPECT_EQ(refusal(4 * large, other),
              of_size + std::to_string(other) + " bytes; a page has 4096 or 2097152 bytes");
  }
  EXPECT_EQ(refusal(large + page, large),
            std::to_string(EINVAL) +
                " demand region 'grid': 2101248 bytes; a region has whole pages of 2097152 bytes, "
                "at least one");
  EXPECT_EQ(refusal(large, large), "2097152");
  const std::size_t endless = SIZE_MAX / large * large;
  for (const std::size_t bytes : {endless, std::size_t{1} << 60}) {
    EXPECT_EQ(refusal(bytes, large),
              std::to_string(ENOMEM) + " demand region 'grid': no address space for " +
                  std::to_string(bytes) +
                  " bytes: Cannot allocate memory; ask for less (see ulimit -v)");
  }
}

}  // namespace
}  // namespace k2k::conformance::large_pages_test
