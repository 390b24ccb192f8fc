#include "io/memory/gdr_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "io/file/files_fixture.hpp"
#include "io/gpu/device_engines.hpp"
#include "io/memory/vendor_library_fixture.hpp"

namespace k2k::io {
namespace {

class GdrMemoryTest : public testing::Test {
 protected:
  void TearDown() override {
    vendor_.failing[0] = '\0';
    EXPECT_EQ(vendor_.gdr_open, 0);
    EXPECT_EQ(vendor_.gdr_pinned, 0);
    EXPECT_EQ(vendor_.gdr_mapped, 0);
  }

  [[nodiscard]] Error refused(const char* name, int code) {
    vendor_.fail(name, code);
    const auto memory = make_gdr_memory(memory_.data(), page, vendor_library());
    EXPECT_FALSE(memory.ok()) << name;
    return memory ? Error{} : memory.error();
  }

  const Pages memory_{64 * page};
  vendor::Control& vendor_ = vendor_control();
};

TEST_F(GdrMemoryTest, BarReadsAndWritesThroughIt) {
  const OwnFiles files;
  const Opened file = open_file(make_file(files, "content", 40 * page), O_RDWR);
  // Neither end is at a page of the GPU.
  std::byte* const device = memory_.data() + 5 * page + 24;
  const auto memory = make_gdr_memory(device, 32 * page, vendor_library()).value();
  EXPECT_STREQ(memory->name(), "gdrcopy");
  EXPECT_FALSE(memory->kernel_reaches());
  const auto engine = make_bar(*memory, 1).value();
  const auto move = [&](const Transfer& transfer) {
    EXPECT_EQ(engine->submit({&transfer, 1}), 1u);
    Completion completion;
    EXPECT_EQ(engine->poll({&completion, 1}, 1), 1u);
    return completion.result;
  };
  EXPECT_EQ(move({file.number(), page, device, 32 * page, 0, Direction::read}),
            std::int64_t{32 * page});
  EXPECT_TRUE(holds_content(memory_.span().subspan(5 * page + 24, 32 * page), page));
  EXPECT_EQ(move({file.number(), 0, device, page, 0, Direction::write}), std::int64_t{page});
  const Pages seen(page);
  ASSERT_EQ(::pread(file.number(), seen.data(), page, 0), ssize_t{page});
  EXPECT_TRUE(holds_content(seen.span(), page));
  EXPECT_EQ(move({file.number(), 0, device + page, 32 * page, 0, Direction::read}), -EFAULT);
}

TEST_F(GdrMemoryTest, MapsItsRangeAlone) {
  std::byte* const device = memory_.data() + page;
  const auto memory = make_gdr_memory(device, 2 * page, vendor_library()).value();
  EXPECT_EQ(memory->map(device, 2 * page).value(), device);
  EXPECT_EQ(memory->map(device + page, page).value(), device + page);
  EXPECT_EQ(memory->map(device + 2 * page, 0).value(), device + 2 * page);
  for (const auto& [address, bytes] :
       {std::pair(device - 1, page), {device + 1, 2 * page}, {device, ~std::size_t{0}}}) {
    EXPECT_EQ(memory->map(address, bytes).error().code, EFAULT);
  }
  EXPECT_EQ(memory->make_queue(1, page).error().code, EOPNOTSUPP);
}

TEST_F(GdrMemoryTest, RefusalsSayWhatIsMissingAndGiveEverythingBack) {
  EXPECT_EQ(refused("gdr_open", 1).code, ENODEV);
  EXPECT_NE(refused("gdr_open", 1).message.find("modprobe gdrdrv"), std::string::npos);
  EXPECT_EQ(refused("gdr_pin_buffer", EINVAL).code, EINVAL);
  EXPECT_EQ(refused("gdr_get_info_v2", EINVAL).code, EINVAL);
  EXPECT_EQ(refused("gdr_map", ENOMEM).code, ENOMEM);
  EXPECT_NE(refused("gdr_pin_buffer", ENOMEM).message.find("BAR"), std::string::npos);
  EXPECT_EQ(make_gdr_memory(memory_.data(), 0, vendor_library()).error().code, EINVAL);
}

TEST_F(GdrMemoryTest, ALibraryThatIsMissingOrAnotherIsNamed) {
  const Error missing = make_gdr_memory(memory_.data(), page, "libnone.so").error();
  EXPECT_EQ(missing.code, ENOENT);
  EXPECT_NE(missing.message.find("libnone.so"), std::string::npos);
  const Error other = make_gdr_memory(memory_.data(), page, "libc.so.6").error();
  EXPECT_EQ(other.code, ENOSYS);
  EXPECT_NE(other.message.find("gdr_"), std::string::npos);
}

}  // namespace
}  // namespace k2k::io
