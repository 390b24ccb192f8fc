// Goal: the probe notices a Linux that does not report a file's true residency, at first and later.
// Method: files that belong to others, lie on overlayfs, or are block devices.

#include <gtest/gtest.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "io/file/residency_fixture.hpp"

namespace k2k::io {
namespace {

constexpr uid_t nobody = 65534;

// While it lives, the process is a user who neither owns the test's files nor may write them.
class AsNobody {
 public:
  AsNobody() { K2K_EXPECT(::seteuid(nobody) == 0); }
  ~AsNobody() { K2K_EXPECT(::seteuid(0) == 0); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
};

class OthersFile : public Residency {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can act as another user";
    Residency::SetUp();
    reader = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(reader, 0);
  }
  void TearDown() override {
    if (reader >= 0) ::close(reader);
  }

  int reader = -1;
};

TEST_F(OthersFile, is_sampled_because_no_call_reports_its_residency) {
  const AsNobody identity;
  // mincore's false answer: nothing was cached.
  ASSERT_EQ(count(second_opinion(reader, {0, pages})), pages);
  const Result<ResidencyProbe> mincore = ResidencyProbe::open(reader, ProbeMethod::mincore);
  ASSERT_FALSE(mincore.ok());
  EXPECT_EQ(mincore.error().code, EPERM);
  Result<ResidencyProbe> best = ResidencyProbe::open(reader);
  ASSERT_TRUE(best.ok());
  const Result<ResidencyProbe> cachestat = ResidencyProbe::open(reader, ProbeMethod::cachestat);
  if (cachestat.ok()) GTEST_SKIP() << "this kernel's cachestat checks no permissions";
  EXPECT_EQ(best->method(), ProbeMethod::sampled);
  if (cachestat.error().code == ENOSYS) return;
  EXPECT_EQ(cachestat.error().code, EPERM);
  EXPECT_EQ(cachestat.error().message,
            "cachestat cannot be used: Operation not permitted; it takes Linux 6.5 and a file that "
            "one owns or may write");
}

TEST_F(OthersFile, is_reported_to_a_user_who_may_write_it) {
  ASSERT_EQ(::fchmod(file.descriptor(), 0666), 0);
  file.cache({0, 100});
  const AsNobody identity;
  Probes probes(reader);
  expect_told(probes, reader, {0, pages}, 1);
  EXPECT_LE(count(second_opinion(reader, {0, pages})), 100u);
}

TEST_F(OthersFile, is_reported_by_cachestat_for_a_descriptor_that_can_write) {
  with_cached(every_other_page(), [&] {
    const AsNobody identity;
    const std::size_t lie = count(second_opinion(file.descriptor(), {0, pages}));
    Result<ResidencyProbe> best = ResidencyProbe::open(file.descriptor());
    const bool cachestat = best.ok() && best->method() == ProbeMethod::cachestat;
    Bytes bytes(pages);
    const std::size_t cached = cachestat ? best->probe(file.descriptor(), 0, bytes, 1) : 0;
    return [=] {
      EXPECT_EQ(lie, pages);
      if (!cachestat) GTEST_SKIP() << "no cachestat";
      EXPECT_EQ(cached, pages / 2);
    };
  });
}

TEST_F(OthersFile, is_sampled_after_it_was_given_away) {
  for (const ProbeMethod method : probe_methods) {
    ASSERT_EQ(::fchown(file.descriptor(), nobody, nobody), 0);
    Result<ResidencyProbe> probe = Error{};
    Bytes bytes(pages);
    {
      const AsNobody identity;
      probe = ResidencyProbe::open(reader, method);
      if (!probe.ok() && probe.error().code == ENOSYS) continue;
      ASSERT_TRUE(probe.ok());
      EXPECT_EQ(probe->probe(reader, 0, bytes, 1), 0u);
    }
    ASSERT_EQ(::fchown(file.descriptor(), 0, 0), 0);
    const AsNobody identity;
    EXPECT_EQ(probe->method(), method);
    probe->probe(reader, 0, bytes, 1);
    if (method == ProbeMethod::cachestat && ResidencyProbe::open(reader, method).ok()) continue;
    EXPECT_EQ(probe->method(), ProbeMethod::sampled) << name_of(method);
    for (int read = 0; read < 8; ++read) probe->note_read(1, 100000, 1000);
    std::size_t zeros = 0;
    for (int round = 0; round < 100; ++round) {
      zeros += probe->probe(reader, 0, bytes, 1) == 0 ? 1 : 0;
    }
    EXPECT_GT(zeros, 80u);
  }
}

// The test's folder, once more through overlayfs. Mounts are in a namespace of the process's own.
class Overlay : public OthersFile {
 protected:
  void SetUp() override {
    OthersFile::SetUp();
    if (IsSkipped()) return;
    const std::string& folder = file.folder();
    for (const char* part : {"/lower", "/upper", "/work", "/merged"}) {
      std::filesystem::create_directory(folder + part);
    }
    std::filesystem::create_hard_link(file.path(), folder + "/lower/file");
    const std::string options =
        "lowerdir=" + folder + "/lower,upperdir=" + folder + "/upper,workdir=" + folder + "/work";
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("overlay", (folder + "/merged").c_str(), "overlay", 0, options.c_str()) != 0) {
      GTEST_SKIP() << "overlayfs cannot be mounted here";
    }
    mounted = true;
    overlaid = ::open((folder + "/merged/file").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(overlaid, 0);
  }
  void TearDown() override {
    if (overlaid >= 0) ::close(overlaid);
    if (mounted) ::umount2((file.folder() + "/merged").c_str(), MNT_DETACH);
    OthersFile::TearDown();
  }

  bool mounted = false;
  int overlaid = -1;
};

TEST_F(Overlay, takes_mincore) {
  const Result<ResidencyProbe> cachestat = ResidencyProbe::open(overlaid, ProbeMethod::cachestat);
  ASSERT_FALSE(cachestat.ok());
  EXPECT_EQ(cachestat.error().code, EPERM);
  EXPECT_EQ(cachestat.error().message, "cachestat counts nothing on this file system; use mincore");
  Result<ResidencyProbe> best = ResidencyProbe::open(overlaid);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(best->method(), ProbeMethod::mincore);
  with_cached({{5, 100}}, [&] {
    Bytes bytes(pages);
    const std::size_t cached = best->probe(overlaid, 0, bytes, 1);
    return [cached] { EXPECT_EQ(cached, 100u); };
  });
}

TEST_F(Overlay, is_sampled_where_mincore_lies) {
  const AsNobody identity;
  Result<ResidencyProbe> best = ResidencyProbe::open(overlaid);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(best->method(), ProbeMethod::sampled);
}

// A block device made of the test's file, while it lives.
class LoopDevice {
 public:
  explicit LoopDevice(int file) {
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    const int number = control < 0 ? -1 : ::ioctl(control, LOOP_CTL_GET_FREE);
    if (control >= 0) ::close(control);
    if (number < 0) return;
    descriptor_ = ::open(("/dev/loop" + std::to_string(number)).c_str(), O_RDWR | O_CLOEXEC);
    loop_config config = {};
    config.fd = static_cast<std::uint32_t>(file);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (descriptor_ >= 0 && ::ioctl(descriptor_, LOOP_CONFIGURE, &config) != 0) {
      ::close(std::exchange(descriptor_, -1));
    }
  }
  ~LoopDevice() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

TEST_F(Residency, of_a_block_device_counts_its_own_pages) {
  const LoopDevice device(file.descriptor());
  if (device.descriptor() < 0) GTEST_SKIP() << "no loop device is available";
  ::posix_fadvise(device.descriptor(), 0, 0, POSIX_FADV_RANDOM);
  ::posix_fadvise(device.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  Bytes data(20 * page_bytes);
  ASSERT_GT(::pread(device.descriptor(), data.data(), data.size(), 7 * page_bytes), 0);
  Probes probes(device.descriptor());
  EXPECT_GE(probes.all.size(), 2u);
  for (const std::uint32_t grain : {1u, 16u}) {
    expect_told(probes, device.descriptor(), {0, pages}, grain);
  }
  EXPECT_GE(count(second_opinion(device.descriptor(), {0, pages})), 1u);
  for (ResidencyProbe& probe : probes.all) {
    EXPECT_NE(probe.method(), ProbeMethod::sampled);
    Bytes bytes(8, 7);
    EXPECT_EQ(probe.probe(device.descriptor(), pages, bytes, 1), 0u) << "beyond the end";
  }
}

}  // namespace
}  // namespace k2k::io
