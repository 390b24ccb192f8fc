#include "io/gpu/peer.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <type_traits>

#include "io/engine/engine.hpp"
#include "io/file/files_fixture.hpp"
#include "io/file/raw.hpp"
#include "io/file/refused_calls_fixture.hpp"

namespace k2k::io {
namespace {

static_assert(std::is_nothrow_move_constructible_v<PeerMemory>);

// A /sys of the test, with files instead of devices' memory.
class PeerTest : public testing::Test {
 protected:
  void add_device(const std::string& address, std::size_t bytes) const {
    const std::string folder = folder_of(address);
    std::filesystem::create_directories(folder);
    write(folder + "/size", bytes);
    write(folder + "/available", bytes / 2);
    write(folder + "/published", 1);
    write(folder + "/allocate", 0);
    std::filesystem::resize_file(folder + "/allocate", bytes);
  }
  [[nodiscard]] std::string folder_of(const std::string& address) const {
    return sys_ + "/bus/pci/devices/" + address + "/p2pmem";
  }
  static void write(const std::string& path, std::size_t number) {
    std::ofstream(path) << number << '\n';
  }
  // The error of an allocation, which must not work.
  [[nodiscard]] Error refused(const std::string& address, std::size_t bytes = page) const {
    const Result<PeerMemory> memory = PeerMemory::allocate(address, bytes, sys_);
    EXPECT_FALSE(memory.ok());
    return memory.ok() ? Error{} : memory.error();
  }

  const OwnFiles files_;
  const std::string sys_ = files_.path("sys");
};

TEST_F(PeerTest, ListsDevicesThatHavePeerMemory) {
  EXPECT_TRUE(peer_devices(sys_).empty());
  add_device("0000:04:00.0", 1 << 20);
  add_device("0000:03:00.0", 2 << 20);
  std::filesystem::create_directories(sys_ + "/bus/pci/devices/0000:00:00.0");
  const std::vector<PeerDevice> devices = peer_devices(sys_);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].address, "0000:03:00.0");
  EXPECT_EQ(devices[0].bytes, 2u << 20);
  EXPECT_EQ(devices[0].available, 1u << 20);
  EXPECT_TRUE(devices[0].published);
  EXPECT_EQ(devices[1].address, "0000:04:00.0");
}

TEST_F(PeerTest, UnreadableFactsAreNoFacts) {
  std::filesystem::create_directories(folder_of("0000:03:00.0"));
  std::ofstream(folder_of("0000:03:00.0") + "/size") << "much\n";
  const std::vector<PeerDevice> devices = peer_devices(sys_);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].bytes, 0u);
  EXPECT_EQ(devices[0].available, 0u);
  EXPECT_FALSE(devices[0].published);
}

TEST_F(PeerTest, TheMachinesOwnDevicesCanBeListed) {
  for (const PeerDevice& device : peer_devices()) EXPECT_FALSE(device.address.empty());
}

TEST_F(PeerTest, AllocatesWholePagesAndMoves) {
  add_device("0000:03:00.0", 1 << 20);
  PeerMemory first = PeerMemory::allocate("0000:03:00.0", page + 1, sys_).value();
  EXPECT_EQ(first.bytes().size(), 2 * page);
  first.bytes()[2 * page - 1] = std::byte{7};
  PeerMemory second = std::move(first);
  EXPECT_EQ(second.bytes()[2 * page - 1], std::byte{7});
  PeerMemory third = PeerMemory::allocate("0000:03:00.0", page, sys_).value();
  third = std::move(second);
  EXPECT_EQ(third.bytes().size(), 2 * page);
}

TEST_F(PeerTest, EnginesMoveFileDataIntoIt) {
  add_device("0000:03:00.0", 1 << 20);
  const PeerMemory memory = PeerMemory::allocate("0000:03:00.0", 8 * page, sys_).value();
  const std::string path = make_file(files_, "content", 8 * page);
  Opened file = open_file(path, O_RDONLY | O_DIRECT);
  if (file.number() < 0) GTEST_SKIP() << "no O_DIRECT here";
  const auto engine = make_direct(4).value();
  const Transfer read{file.number(), 0, memory.bytes().data(), 8 * page, 1, Direction::read};
  ASSERT_EQ(engine->submit({&read, 1}), 1u);
  Completion completion;
  ASSERT_EQ(engine->poll({&completion, 1}, 1), 1u);
  EXPECT_EQ(completion.result, std::int64_t{8 * page});
  EXPECT_TRUE(holds_content(memory.bytes(), 0));
}

TEST_F(PeerTest, RefusesMalformedAddressesAndSizes) {
  add_device("0000:03:00.0", 1 << 20);
  for (const char* const wrong : {"", "..", "0000:03:00.0/../../x", "nvme0"}) {
    const Error error = refused(wrong);
    EXPECT_EQ(error.code, EINVAL);
    EXPECT_NE(error.message.find("give a PCI address such as 0000:03:00.0"), std::string::npos);
  }
  EXPECT_EQ(refused("0000:03:00.0", 0).code, EINVAL);
  EXPECT_EQ(refused("0000:03:00.0", ~std::size_t{0}).code, EINVAL);
}

TEST_F(PeerTest, ADeviceWithoutPeerMemoryNamesItsNeeds) {
  const Error error = refused("0000:03:00.0");
  EXPECT_EQ(error.code, ENOENT);
  EXPECT_NE(error.message.find("Linux 6.2 with CONFIG_PCI_P2PDMA"), std::string::npos);
}

TEST_F(PeerTest, ARefusedMappingNamesTheAvailableSize) {
  add_device("0000:03:00.0", 1 << 20);
  // More than an address space holds.
  const Error error = refused("0000:03:00.0", std::size_t{1} << 60);
  EXPECT_EQ(error.code, ENOMEM);
  EXPECT_NE(error.message.find("524288 are available"), std::string::npos);
}

TEST_F(PeerTest, UnmappableMemoryIsReported) {
  add_device("0000:03:00.0", 1 << 20);
  const std::string allocate = folder_of("0000:03:00.0") + "/allocate";
  std::filesystem::remove(allocate);
  std::filesystem::create_symlink("/dev/tty0-that-is-not-there", allocate);
  EXPECT_EQ(refused("0000:03:00.0").code, ENOENT);
  std::filesystem::remove(allocate);
  std::filesystem::create_directory(allocate);
  const Error folder = refused("0000:03:00.0");
  EXPECT_EQ(folder.code, EISDIR);
  EXPECT_NE(folder.message.find("cannot be opened"), std::string::npos);
  std::filesystem::remove(allocate);
  ASSERT_EQ(::mkfifo(allocate.c_str(), 0600), 0);
  const Error pipe = refused("0000:03:00.0");
  EXPECT_EQ(pipe.code, ENODEV);
  EXPECT_NE(pipe.message.find("it cannot be mapped"), std::string::npos);
}

TEST_F(PeerTest, AMissingRightToAllocateIsNamed) {
  add_device("0000:03:00.0", 1 << 20);
  // Like a Linux that refuses this user; root ignores file modes, so modes cannot test it.
  const int status = where_refused(SYS_openat, EACCES, [&] {
    const Result<PeerMemory> memory = PeerMemory::allocate("0000:03:00.0", page, sys_);
    if (memory.ok() || memory.error().code != EACCES) return 1;
    return memory.error().message.find("p2pmem/allocate: chmod or chown it") != std::string::npos
               ? 0
               : 2;
  });
  if (status == no_filter) GTEST_SKIP() << "no seccomp";
  EXPECT_EQ(status, 0);
}

TEST(WhyPeerRefused, NamesTheCauseAndTheRemedy) {
  EXPECT_NE(why_peer_refused(EREMOTEIO).find("device mapper, loop"), std::string::npos);
  EXPECT_NE(why_peer_refused(EINVAL).find("align it to 4096"), std::string::npos);
  EXPECT_NE(why_peer_refused(EFAULT).find("no registered buffers"), std::string::npos);
  EXPECT_NE(why_peer_refused(EIO).find("Input/output error"), std::string::npos);
}

}  // namespace
}  // namespace k2k::io
