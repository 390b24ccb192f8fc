#include "io/gpu/stream_copy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/file/files_fixture.hpp"

namespace k2k::io {
namespace {

TEST(StreamCopy, EveryKindCopiesEveryLengthAndAlignmentAndNothingBeside) {
  constexpr std::size_t longest = 512;
  constexpr std::byte untouched{0xA5};
  std::vector<std::byte> from(longest);
  fill(from, 7);
  ASSERT_FALSE(stream_copies().empty());
  EXPECT_EQ(std::string(stream_copies().back().name), "sse2");
  for (const StreamCopyKind& kind : stream_copies()) {
    for (std::size_t to_at = 0; to_at < 65; ++to_at) {
      for (const std::size_t from_at : {0u, 1u, 31u, 64u}) {
        for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 200u, 320u}) {
          const Pages to(page);
          std::fill(to.span().begin(), to.span().begin() + longest, untouched);
          kind.copy(to.data() + to_at, from.data() + from_at, bytes);
          for (std::size_t at = 0; at < longest; ++at) {
            const bool inside = at >= to_at && at < to_at + bytes;
            const std::byte wanted = inside ? from[from_at + at - to_at] : untouched;
            ASSERT_EQ(to.data()[at], wanted)
                << kind.name << ", " << bytes << " bytes to " << to_at << ", byte " << at;
          }
        }
      }
    }
  }
}

TEST(StreamCopy, CopiesMegabytes) {
  const Pages from(1 << 20);
  const Pages to(1 << 20);
  fill(from.span(), 0);
  stream_copy(to.data(), from.data(), from.span().size());
  EXPECT_TRUE(holds_content(to.span(), 0));
}

}  // namespace
}  // namespace k2k::io
