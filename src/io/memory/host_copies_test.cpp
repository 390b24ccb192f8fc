#include "io/memory/host_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(HostCopies, LeavesBytesInItsBuffersAndStoresThemFromThere) {
  SeparateMemory memory(32 * page);
  fill(memory.inside(), 7);
  HostCopies copies = HostCopies::create(memory, 3, 2 * page).value();
  const HostCopies::Place places[] = {
      {memory.address() + 3, 2 * page}, {memory.address() + 9 * page, 1}, {memory.address(), 100}};
  ASSERT_EQ(copies.fetch(places), 0);
  EXPECT_EQ(memory.under_way_max(), 3u);
  for (std::uint32_t at = 0; at < 3; ++at) {
    const auto from = memory.inside().subspan(
        static_cast<std::size_t>(places[at].device - memory.address()), places[at].bytes);
    EXPECT_TRUE(std::ranges::equal(copies.buffer(at).first(places[at].bytes), from)) << at;
  }
  ASSERT_EQ(copies.fetch({}), 0);
  fill(copies.buffer(0), 9);
  ASSERT_EQ(copies.store(memory.address() + 5, page), 0);
  EXPECT_TRUE(holds_content(memory.inside().subspan(5, page), 9));

  for (const bool refused : {false, true}) {
    for (const std::uint32_t at : {0u, 1u, 2u}) {
      // Its queue expects no copy in flight when it ends.
      if (refused) memory.refuse_copy(memory.copies() + at, ENODEV);
      if (!refused) memory.fail_copy(memory.copies() + at, EIO);
      HostCopies failing = HostCopies::create(memory, 3, 2 * page).value();
      EXPECT_EQ(failing.fetch(places), refused ? ENODEV : EIO) << at;
    }
    if (refused) memory.refuse_copy(memory.copies(), ENODEV);
    if (!refused) memory.fail_copy(memory.copies(), EIO);
    EXPECT_EQ(copies.store(memory.address(), page), refused ? ENODEV : EIO);
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
