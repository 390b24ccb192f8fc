// Goal: a device's setting is found in Linux' place for disks, partitions and file systems without
// a device; any other content is an error, or the default.
// Method: prepared folders with the links of /sys, and this machine's own.

#include "router/ahead/read_ahead_setting.hpp"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <fstream>

#include "io/file/own_file_fixture.hpp"

namespace k2k::router {
namespace {

// As /sys has it: 8:0 a disk, 8:1 its partition, 0:50 a network file system.
class PlantedSys {
 public:
  PlantedSys() {
    const std::filesystem::path root = folder();
    std::filesystem::create_directories(root / "devices/sda/sda1");
    std::filesystem::create_directories(root / "devices/sda/queue");
    std::filesystem::create_directories(root / "dev/block");
    std::filesystem::create_directories(root / "class/bdi/0:50");
    std::filesystem::create_directory_symlink("../../devices/sda", root / "dev/block/8:0");
    std::filesystem::create_directory_symlink("../../devices/sda/sda1", root / "dev/block/8:1");
    plant("devices/sda/queue", "128\n");
    plant("class/bdi/0:50", "4096\n");
  }
  void plant(const std::string& where, const std::string& text) const {
    std::ofstream(folder() + "/" + where + "/read_ahead_kb") << text;
  }
  [[nodiscard]] const std::string& folder() const { return place_.folder(); }

 private:
  io::OwnFile place_;
};

TEST(ReadAheadKib, is_the_setting_of_the_disk) {
  const PlantedSys sys;
  EXPECT_EQ(read_ahead_kib(makedev(8, 0), sys.folder()).value(), 128u);
}

TEST(ReadAheadKib, of_a_partition_is_the_setting_of_its_disk) {
  const PlantedSys sys;
  EXPECT_EQ(read_ahead_kib(makedev(8, 1), sys.folder()).value(), 128u);
}

TEST(ReadAheadKib, of_a_file_system_without_a_disk_is_its_own) {
  const PlantedSys sys;
  EXPECT_EQ(read_ahead_kib(makedev(0, 50), sys.folder()).value(), 4096u);
}

TEST(ReadAheadKib, may_be_zero_or_very_large) {
  const PlantedSys sys;
  sys.plant("devices/sda/queue", "0\n");
  EXPECT_EQ(read_ahead_kib(makedev(8, 0), sys.folder()).value(), 0u);
  sys.plant("devices/sda/queue", "18446744073709551612");
  EXPECT_EQ(read_ahead_kib(makedev(8, 0), sys.folder()).value(), read_ahead_kib_max);
}

TEST(ReadAheadKib, is_an_error_where_there_is_none) {
  const PlantedSys sys;
  const Result<std::uint32_t> found = read_ahead_kib(makedev(8, 2), sys.folder());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ENOENT);
  EXPECT_EQ(found.error().message,
            "no read_ahead_kb of device 8:2 under " + sys.folder() + "; 512 KiB are assumed");
}

TEST(ReadAheadKib, is_refused_if_it_is_no_number) {
  const PlantedSys sys;
  for (const char* text : {"", "\n", "x", "-1\n", "12x\n", "12 13\n", "99999999999999999999\n"}) {
    sys.plant("devices/sda/queue", text);
    const Result<std::uint32_t> found = read_ahead_kib(makedev(8, 1), sys.folder());
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.error().code, EINVAL);
    EXPECT_EQ(found.error().message,
              sys.folder() +
                  "/dev/block/8:1/../queue/read_ahead_kb holds no number of KiB; 512 "
                  "are assumed");
  }
}

TEST(ReadAheadPages, of_a_file_follow_its_device) {
  const io::OwnFile file;
  const PlantedSys sys;
  struct stat status = {};
  ASSERT_EQ(::fstat(file.descriptor(), &status), 0);
  EXPECT_EQ(read_ahead_pages(file.descriptor(), sys.folder()), 128u) << "the default";
  const std::string name =
      std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  std::filesystem::create_directories(sys.folder() + "/class/bdi/" + name);
  sys.plant("class/bdi/" + name, "64\n");
  EXPECT_EQ(read_ahead_pages(file.descriptor(), sys.folder()), 16u);
  EXPECT_EQ(read_ahead_pages(-1, sys.folder()), 128u);
}

TEST(ReadAheadPages, are_the_setting_of_this_machine) {
  const io::OwnFile file;
  struct stat status = {};
  ASSERT_EQ(::fstat(file.descriptor(), &status), 0);
  const Result<std::uint32_t> kib = read_ahead_kib(status.st_dev);
  if (!kib) GTEST_SKIP() << kib.error().message;
  EXPECT_EQ(read_ahead_pages(file.descriptor()), kib.value() / 4);
}

TEST(ReadAheadPages, of_a_block_device_are_its_own) {
  const int device = ::open("/dev/loop0", O_RDONLY | O_CLOEXEC);
  if (device < 0) GTEST_SKIP() << "no block device may be opened";
  struct stat status = {};
  ASSERT_EQ(::fstat(device, &status), 0);
  const Result<std::uint32_t> kib = read_ahead_kib(status.st_rdev);
  EXPECT_EQ(read_ahead_pages(device), (kib ? kib.value() : read_ahead_kib_default) / 4);
  ::close(device);
}

}  // namespace
}  // namespace k2k::router
