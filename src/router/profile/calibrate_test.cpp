// Goal: measuring gives one point per size, leaves nothing behind on any exit, and reports the
// reason of a failure.

#include "router/profile/calibrate.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/clock.hpp"
#include "io/memory/separate_memory_fixture.hpp"

namespace k2k::router {
namespace {

using std::chrono::milliseconds;

class Calibrate : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "k2k_calibrate_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
};

TEST_F(Calibrate, gives_a_point_a_size_that_fits_a_model) {
  const Instant begin = now();
  double last = 0;
  bool wrote = false;
  Result<Measurement> found =
      measure(folder_, std::chrono::seconds(20), [&](double done, const char* what) {
        EXPECT_GE(done, last);
        EXPECT_LE(done, 1);
        last = done;
        wrote = wrote || std::string(what) == "writing";
        return true;
      });
  if (!found && (found.error().code == EOPNOTSUPP || found.error().code == ENOSPC ||
                 found.error().code == ETIMEDOUT)) {
    GTEST_SKIP() << found.error().message;
  }
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_LT(now() - begin, std::chrono::seconds(60));
  EXPECT_TRUE(wrote);
  EXPECT_GE(found->rounds, rounds_min);
  EXPECT_LE(found->rounds, rounds_max);
  ASSERT_EQ(found->direct.size(), 22u);
  ASSERT_EQ(found->cache.size(), 22u);
  EXPECT_EQ(found->direct.front().bytes, 4096);
  EXPECT_EQ(found->direct.back().bytes, 8 << 20);
  EXPECT_EQ(found->together.transfers, 64u);
  EXPECT_GT(found->together.us, 0);
  const Result<Fit> model = fit(found->direct, found->cache, found->together);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_GT(model.value().model.next_us, 0);
}

TEST_F(Calibrate, measures_the_engines_of_a_devices_memory) {
  io::SeparateMemory memory(calibrate_target_bytes);
  memory.set_looks_max(2);
  const CalibrateTarget target{&memory, memory.address(), {}};
  const auto found = measure(folder_, std::chrono::seconds(3), {}, target);
  if (!found && (found.error().code == EOPNOTSUPP || found.error().code == ENOSPC ||
                 found.error().code == ETIMEDOUT || found.error().code == EAGAIN)) {
    GTEST_SKIP() << found.error().message;
  }
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found.value().identity.engine, "separate-staging-" + direct_engine());
  EXPECT_EQ(found.value().direct.size(), 22u);
  EXPECT_GT(memory.copies(), 22u * 4 * rounds_min);
}

TEST_F(Calibrate, names_the_missing_parts_of_a_devices_memory) {
  io::SeparateMemory memory(calibrate_target_bytes);
  const CalibrateTarget target{&memory, memory.address(), {}};
  memory.refuse_queues(ENOMEM);
  EXPECT_NE(measure(folder_, std::chrono::seconds(5), {}, target).error().message.find("ulimit -l"),
            std::string::npos);
  memory.refuse_queues(0);
  memory.fail_copies_from(0, EFAULT);
  const auto found = measure(folder_, std::chrono::seconds(5), {}, target);
  ASSERT_FALSE(found);
  if (found.error().code != EFAULT) GTEST_SKIP() << found.error().message;
  EXPECT_EQ(found.error().message, folder_ +
                                       ": cannot read into the device's memory: Bad address; see "
                                       "nvidia-smi");
}

TEST_F(Calibrate, stops_on_request) {
  for (const int last : {1, 3, 40}) {
    int calls = 0;
    const Result<Measurement> found = measure(folder_, std::chrono::seconds(20),
                                              [&](double, const char*) { return ++calls < last; });
    ASSERT_FALSE(found);
    if (found.error().code != ECANCELED) GTEST_SKIP() << found.error().message;
    EXPECT_EQ(calls, last);
    EXPECT_EQ(found.error().message, "stopped; nothing was stored, and nothing is left behind");
  }
}

TEST_F(Calibrate, without_time_for_ten_rounds_is_an_error) {
  const Result<Measurement> found =
      measure(folder_, std::chrono::seconds(1), [](double, const char*) {
        ::usleep(100'000);
        return true;
      });
  ASSERT_FALSE(found);
  if (found.error().code != ETIMEDOUT) GTEST_SKIP() << found.error().message;
  EXPECT_NE(found.error().message.find("; give it more: --seconds 55"), std::string::npos)
      << found.error().message;
}

// The pages of the file without a name leave the page cache, as they do where memory is short.
void evict(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    const std::string target = std::filesystem::read_symlink(entry.path(), none).string();
    if (!target.starts_with(folder)) continue;
    ::posix_fadvise(std::stoi(entry.path().filename().string()), 0, 0, POSIX_FADV_DONTNEED);
  }
}

TEST_F(Calibrate, counts_no_round_in_which_cached_pages_were_evicted) {
  const Result<Measurement> found =
      measure(folder_, std::chrono::seconds(5), [&](double, const char* what) {
        if (what == std::string("reading")) evict(folder_);
        return true;
      });
  ASSERT_FALSE(found);
  if (found.error().code != EAGAIN) GTEST_SKIP() << found.error().message;
  EXPECT_NE(found.error().message.find(" MiB do not stay in the page cache; free memory, or raise "
                                       "the limit of this control group"),
            std::string::npos)
      << found.error().message;
}

TEST_F(Calibrate, refuses_unsuitable_folders_with_the_remedy) {
  EXPECT_EQ(measure(folder_, milliseconds(999)).error().message,
            "a calibration of 0.999 s; permitted are 1 to 55");
  EXPECT_EQ(measure(folder_, std::chrono::seconds(56)).error().code, EINVAL);
  EXPECT_EQ(measure(folder_ + "/none", calibrate_time_default).error().message,
            folder_ +
                "/none: cannot make a file: No such file or directory; name a folder that "
                "you may write in");
  const Result<Measurement> memory = measure("/dev/shm", calibrate_time_default);
  if (memory.error().code == EOPNOTSUPP) {
    EXPECT_EQ(memory.error().message,
              "/dev/shm: tmpfs has no device to transfer from, and what the page cache alone does "
              "is no profile; name a folder on a disk whose file system has O_DIRECT (ext4, xfs)");
  }
  if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(folder_.c_str(), 0500), 0);
    EXPECT_EQ(measure(folder_, calibrate_time_default).error().code, EACCES);
    ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  }
}

}  // namespace
}  // namespace k2k::router
