// Goal: the vendor's library is used if it is present and avoids copies, staging otherwise; the
// page cache serves the reads that the library refuses. Method: a library of the tests' own
// (io/memory/vendor_fixture), with memory of the process.

#include "router/read/device_paths.hpp"

#include <cerrno>
#include <filesystem>

#include "io/memory/cuda_memory.hpp"
#include "io/memory/separate_memory_fixture.hpp"
#include "io/memory/vendor_library_fixture.hpp"
#include "router/file/file_fixture.hpp"
#include "router/read/device_channels.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {
namespace {

class DevicePathsTest : public testing::Test {
 protected:
  void TearDown() override { vendor_.failing[0] = '\0'; }

  DevicePathsConfig config(DirectPath path, bool nvidia_fs = false) {
    DevicePathsConfig made{.direct = path, .buffers = 4, .buffer_bytes = 65536};
    made.libraries = {io::vendor_library(), io::vendor_library(), io::vendor_library()};
    made.proc = files_.path("proc");
    std::filesystem::create_directories(made.proc + "/modules");  // It must be there.
    if (nvidia_fs) std::filesystem::create_directories(made.proc + "/driver/nvidia-fs/devcount");
    return made;
  }
  static std::string name_of(const Result<DevicePaths>& paths) {
    return paths ? paths.value().name() : paths.error().message;
  }
  static std::unique_ptr<FileReader> reader(const std::shared_ptr<io::DeviceMemory>& memory,
                                            const DevicePathsConfig& paths) {
    const Model direct_pays{.call_us = 1, .cutoff_bytes = 0, .direct_gbs = 5, .cache_gbs = 5};
    return FileReader::create(memory, {.model = direct_pays, .grain_pages = 1}, {.paths = paths})
        .value();
  }
  static void expect_read(FileReader& read, DataFile& file) {
    const Memory memory = memory_of(file.size());
    ASSERT_EQ(read.pread(file.descriptor(), memory.get(), file.size(), 0),
              static_cast<ssize_t>(file.size()));
    ASSERT_EQ(std::memcmp(memory.get(), file.bytes().data(), file.size()), 0);
  }

  io::vendor::Control& vendor_ = io::vendor_control();
  const io::OwnFiles files_;
  const std::shared_ptr<io::DeviceMemory> cuda_ =
      io::make_cuda_memory(0, io::vendor_library()).value();
};

TEST_F(DevicePathsTest, take_cufile_if_it_copies_nothing_through_the_host) {
  EXPECT_TRUE(name_of(DevicePaths::create(*cuda_, config(DirectPath::automatic)))
                  .starts_with("cuda-staging-"))
      << "without nvidia-fs it copies, too";
  EXPECT_EQ(vendor_.starts, 0) << "and its start may never end";
  EXPECT_EQ(name_of(DevicePaths::create(*cuda_, config(DirectPath::automatic, true))),
            "cuda-cufile");
  EXPECT_EQ(name_of(DevicePaths::create(*cuda_, config(DirectPath::cufile))), "cuda-cufile");
  EXPECT_EQ(name_of(DevicePaths::create(*cuda_, config(DirectPath::hipfile))), "cuda-hipfile");
  EXPECT_TRUE(name_of(DevicePaths::create(*cuda_, config(DirectPath::staging, true)))
                  .starts_with("cuda-staging-"));
  io::SeparateMemory separate(65536);
  EXPECT_TRUE(name_of(DevicePaths::create(separate, config(DirectPath::automatic, true)))
                  .starts_with("separate-staging-"));
}

TEST_F(DevicePathsTest, give_the_reason_why_a_chosen_path_is_missing) {
  DevicePathsConfig wrong = config(DirectPath::cufile);
  wrong.libraries.cufile = "libnowhere.so.9";
  const auto none = DevicePaths::create(*cuda_, wrong);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ENOENT) << none.error().message;
  wrong.direct = DirectPath::automatic;
  EXPECT_TRUE(name_of(DevicePaths::create(*cuda_, wrong)).starts_with("cuda-staging-"));
}

TEST_F(DevicePathsTest, read_files_by_cufile_until_their_descriptor_is_closed) {
  DataFile file(3'000'123);
  file.cache([](std::size_t at) { return at / 64 % 2 == 0; });
  {
    const auto read = reader(cuda_, config(DirectPath::automatic, true));
    expect_read(*read, file);
    if (read->stats().files_refused > 0) GTEST_SKIP() << "no direct transfers in this folder";
    EXPECT_GT(read->stats().bytes_direct, 0u);
    EXPECT_EQ(vendor_.files, 1);
    EXPECT_GT(vendor_.current_set, 0) << "cuFile's threads have the context";
    read->closing(file.descriptor());
    EXPECT_EQ(vendor_.files, 0);
  }
  EXPECT_EQ(vendor_.opened, 0);
}

TEST_F(DevicePathsTest, read_by_the_page_cache_if_cufile_refuses) {
  DataFile file(2'000'000);
  file.evict();
  const auto read = reader(cuda_, config(DirectPath::cufile));
  vendor_.fail("Read", 5008);  // This file is refused.
  expect_read(*read, file);
  expect_read(*read, file);
  EXPECT_EQ(read->stats().files_refused, 1u);
}

}  // namespace
}  // namespace k2k::router
