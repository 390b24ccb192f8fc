#include "io/memory/host_copies.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "io/memory/separate_memory_fixture.hpp"

namespace k2k::io {
namespace {

constexpr std::size_t bytes = 20 * page + 123;

TEST(HostCopies, BringsAllBytesThereAndBackBySeveralBuffersAtATime) {
  SeparateMemory memory(32 * page);
  HostCopies copies = HostCopies::create(memory, 3, 2 * page).value();
  const Pages host(32 * page);
  fill(host.span(), 7);
  std::byte* const device = memory.address() + 5;
  ASSERT_EQ(copies.to_device(device, host.span().first(bytes)), 0);
  EXPECT_TRUE(holds_content(memory.inside().subspan(5, bytes), 7));
  EXPECT_EQ(memory.inside()[4], std::byte{0});
  EXPECT_EQ(memory.inside()[5 + bytes], std::byte{0});
  EXPECT_EQ(memory.under_way_max(), 3u);

  const Pages back(32 * page);
  ASSERT_EQ(copies.from_device(back.span().first(bytes), device), 0);
  EXPECT_TRUE(holds_content(back.span().first(bytes), 7));
  EXPECT_EQ(back.span()[bytes], std::byte{0});
  ASSERT_EQ(copies.from_device({}, device), 0);
}

TEST(HostCopies, TellsTheFirstFailureAndLeavesNothingUnderWay) {
  const Pages host(32 * page);
  for (const bool refused : {false, true}) {
    for (const std::uint32_t at : {0u, 1u, 4u}) {
      SeparateMemory memory(32 * page);  // The destructor of its queue expects no copy in flight.
      if (refused) memory.refuse_copy(at, ENODEV);
      if (!refused) memory.fail_copy(at, EIO);
      HostCopies copies = HostCopies::create(memory, 2, 4 * page).value();
      EXPECT_EQ(copies.to_device(memory.address(), host.span().first(bytes)),
                refused ? ENODEV : EIO);
      EXPECT_EQ(copies.from_device(host.span().first(bytes), memory.address()), 0) << at;
    }
  }
}

TEST(HostCopies, GivesTheReasonOfMissingBuffers) {
  SeparateMemory memory(page);
  memory.refuse_queues(ENOMEM);
  const auto copies = HostCopies::create(memory, 2, page);
  ASSERT_FALSE(copies.ok());
  EXPECT_EQ(copies.error().code, ENOMEM);
  EXPECT_NE(copies.error().message.find("ulimit -l"), std::string::npos);
}

}  // namespace
}  // namespace k2k::io
