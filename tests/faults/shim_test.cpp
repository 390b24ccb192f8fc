// Goal: under faults, a program observes the same with libk2k_io.so as without. Method: each scene
// of fault_probe.cpp runs without the library, then with the router, then with the router and
// read-ahead; their outputs are compared.

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/file/direct_file.hpp"
#include "io/file/files_fixture.hpp"
#include "shim/tests/programs_fixture.hpp"
#include "tests/faults/mounted_fixture.hpp"

namespace k2k::faults::shim_test {
namespace {

using shim::Outcome;
using shim::stat_of;

constexpr std::size_t file_bytes = (3 << 20) + 5000;
const std::string by_router = "LD_PRELOAD=" K2K_SHIM " K2K_IO_STATS=1 ";
const std::string reading_ahead = by_router + "K2K_IO_READ_AHEAD_PAGES=64 ";
const std::string exclusively = by_router + "K2K_IO_EXCLUSIVE=1 ";
const std::vector<std::string> usual = {reading_ahead, by_router};

class ShimOnFaults : public shim::Programs {
 protected:
  // Runs `prepare` and then the scene in `place`, once for each environment. Returns the outcome of
  // the last environment.
  Outcome expect_same(const std::string& place, const std::string& scene,
                      const std::function<void()>& prepare,
                      const std::vector<std::string>& environments = usual) const {
    const auto play = [&](const std::string& environment) {
      prepare();
      const std::size_t space = scene.find(' ');
      const std::string name = scene.substr(0, space);
      const std::string more = space == std::string::npos ? "" : scene.substr(space);
      return run(environment, K2K_FAULT_PROBE " " + name + " '" + place + "'" + more);
    };
    const Outcome without = play("A=1");
    EXPECT_EQ(without.status, 0) << without.error;
    EXPECT_NE(without.out, "");
    Outcome routed;
    for (const std::string& environment : environments) {
      routed = play(environment);
      EXPECT_EQ(routed.status, 0) << routed.error;
      EXPECT_EQ(routed.out, without.out) << environment;
      EXPECT_EQ(stat_of(routed, "without_router"), 0) << routed.error;
      EXPECT_GT(stat_of(routed, "reads") + stat_of(routed, "writes"), 0) << routed.error;
    }
    return routed;
  }
  // On the file system of the test's folder.
  Outcome expect_same_here(const std::string& scene,
                           const std::vector<std::string>& environments = usual) const {
    const std::string place = std::filesystem::absolute(here_.path("place")).string();
    return expect_same(
        place, scene,
        [&] {
          std::filesystem::remove_all(place);
          std::filesystem::create_directory(place);
          io::make_file(here_, "place/data", file_bytes);
        },
        environments);
  }
  [[nodiscard]] bool has_direct() const {
    io::make_file(here_, "some", 4096);
    const io::Opened file = io::open_file(here_.path("some"), O_RDONLY);
    return io::DirectFile::open(file.number(), io::DirectFile::Access::read).ok();
  }

 private:
  const io::OwnFiles here_;
};

class ShimOnFuse : public ShimOnFaults {
 protected:
  void SetUp() override {
    ShimOnFaults::SetUp();
    mount_or_skip(system_);
  }
  [[nodiscard]] Control& control() const { return system_->control(); }
  [[nodiscard]] std::string control_path() const { return system_->control_path(); }
  Outcome expect_same_there(const std::string& scene) const {
    return expect_same(std::filesystem::absolute(system_->mount_point()).string(), scene, [&] {
      for (const auto& entry : std::filesystem::directory_iterator(system_->folder())) {
        std::filesystem::remove(entry.path());
      }
      system_->make_file("data", file_bytes);
    });
  }

 private:
  std::unique_ptr<FaultFileSystem> system_;
};

TEST_F(ShimOnFuse, a_bad_byte_is_where_it_was) {
  const std::uint64_t bad = 411 * io::page + 17;
  control().bad_byte = bad;
  const Outcome outcome = expect_same_there("bad_byte " + std::to_string(bad));
  EXPECT_GT(stat_of(outcome, "fall_backs"), 0) << outcome.error;
  EXPECT_GT(control().failed, 0u);
}

TEST_F(ShimOnFuse, refused_direct_reads_come_by_the_page_cache_and_are_counted) {
  control().direct_read_error = EREMOTEIO;
  const Outcome outcome = expect_same_there("replaced");
  EXPECT_GT(stat_of(outcome, "fall_backs"), 0) << outcome.error;
  EXPECT_GT(stat_of(outcome, "files_refused"), 0) << outcome.error;
  EXPECT_EQ(stat_of(outcome, "bytes_direct"), 0) << outcome.error;
}

TEST_F(ShimOnFuse, without_o_direct_everything_comes_by_the_page_cache) {
  control().direct_open_error = EINVAL;
  const Outcome outcome = expect_same_there("to_the_end");
  EXPECT_GT(stat_of(outcome, "files_refused"), 0) << outcome.error;
  EXPECT_EQ(stat_of(outcome, "bytes_direct"), 0) << outcome.error;
}

TEST_F(ShimOnFuse, short_reads_bring_the_whole_file_in_the_end) {
  control().uncached = 1;
  control().read_bytes_max = 100'000;
  expect_same_there("to_the_end");
}

TEST_F(ShimOnFuse, a_file_replaced_and_cut_under_a_program_reads_the_same) {
  const Outcome outcome = expect_same_there("replaced");
  EXPECT_GT(stat_of(outcome, "bytes_direct"), 0) << outcome.error;
}

TEST_F(ShimOnFuse, a_full_disk_takes_as_much_and_says_the_same) {
  control().space_bytes = 2'500'000;
  const Outcome outcome = expect_same_there("full_disk");
  EXPECT_NE(outcome.out.find("ENOSPC"), std::string::npos) << outcome.out;
}

TEST_F(ShimOnFuse, closing_another_file_does_not_wait_for_a_file_that_hangs) {
  const std::string path = std::filesystem::absolute(control_path()).string();
  ASSERT_EQ(::setenv("K2K_FAULT_CONTROL", path.c_str(), 1), 0);
  const Outcome outcome = expect_same_there("hanging");
  EXPECT_NE(outcome.out.find("still held: 1\n"), std::string::npos) << outcome.out;
}

TEST_F(ShimOnFuse, signals_change_nothing) { expect_same_there("storm"); }

TEST_F(ShimOnFaults, a_full_disk_takes_as_much_and_says_the_same) {
  const io::OwnFiles files;
  const std::string place = std::filesystem::absolute(files.path("small")).string();
  std::filesystem::create_directory(place);
  if (::mount("k2k_faults", place.c_str(), "tmpfs", 0, "size=4m") != 0) {
    GTEST_SKIP() << "no tmpfs can be mounted (" << std::strerror(errno) << "): run as root";
  }
  const Outcome outcome =
      expect_same(place, "full_disk", [&] { std::filesystem::remove(place + "/out"); });
  ::umount2(place.c_str(), MNT_DETACH);
  EXPECT_NE(outcome.out.find("ENOSPC"), std::string::npos) << outcome.out;
}

TEST_F(ShimOnFaults, a_limit_on_the_length_of_files_is_the_same) {
  const Outcome outcome = expect_same_here("limited_file");
  EXPECT_NE(outcome.out.find("EFBIG"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("signalled: 2"), std::string::npos) << outcome.out;
}

TEST_F(ShimOnFaults, a_program_has_as_many_descriptors_with_the_same_numbers) {
  const Outcome outcome = expect_same_here("full_table 64");
  EXPECT_NE(outcome.out.find("EMFILE"), std::string::npos) << outcome.out;
  EXPECT_EQ(stat_of(outcome, "bytes_direct"), 0) << "there is no room for a twin";
}

// The router's files have descriptor numbers from a thousand on only.
TEST_F(ShimOnFaults, a_program_with_many_files_has_the_same_numbers) {
  const Outcome outcome = expect_same_here("many_files");
  EXPECT_TRUE(!has_direct() || stat_of(outcome, "bytes_direct") > 0) << outcome.error;
}

TEST_F(ShimOnFaults, signals_change_nothing) {
  const Outcome outcome = expect_same_here("storm");
  EXPECT_NE(outcome.out.find("wrong: 0\nsignalled: 1\n"), std::string::npos) << outcome.out;
}

TEST_F(ShimOnFaults, a_file_replaced_and_cut_under_a_program_reads_the_same) {
  expect_same_here("replaced");
}

TEST_F(ShimOnFaults, long_writes_are_the_same_and_direct_only_in_exclusive_mode) {
  const Outcome usually = expect_same_here("long_writes");
  EXPECT_EQ(stat_of(usually, "writes_direct"), 0) << usually.error;
  EXPECT_EQ(stat_of(usually, "bytes_direct"), 0) << usually.error;
  EXPECT_NE(usually.out.find("it runs: 0\n"), std::string::npos) << usually.out;
  const Outcome outcome = expect_same_here("long_writes", {exclusively});
  EXPECT_TRUE(!has_direct() || stat_of(outcome, "writes_direct") >= 5) << outcome.error;
  EXPECT_EQ(stat_of(outcome, "fall_backs"), 0) << outcome.error;
  // The mode switched off explicitly.
  const Outcome off = expect_same_here("long_writes", {by_router + "K2K_IO_EXCLUSIVE=0 "});
  EXPECT_EQ(stat_of(off, "writes_direct"), 0) << off.error;
}

TEST_F(ShimOnFaults, signals_and_limits_change_nothing_in_exclusive_writes) {
  expect_same_here("storm", {exclusively});
  expect_same_here("limited_file", {exclusively});
  expect_same_here("full_table 64", {exclusively});
}

TEST_F(ShimOnFaults, a_write_is_seen_whole_where_the_kernel_shows_it_whole) {
  if (!has_direct()) GTEST_SKIP() << "no direct transfers in this folder";
  const Outcome outcome = expect_same_here("torn 5");
  EXPECT_EQ(outcome.out, "mixes seen: 0\nmixes left: 0\n");
}

// The scene above can fail: it does with a router library that writes in two calls.
TEST_F(ShimOnFaults, a_write_of_two_calls_would_be_seen) {
  if (!has_direct()) GTEST_SKIP() << "no direct transfers in this folder";
  std::string out = "mixes seen: 0\nmixes left: 0\n";
  for (int tries = 0; tries < 10 && out == "mixes seen: 0\nmixes left: 0\n"; ++tries) {
    const Outcome outcome =
        run("LD_PRELOAD=" K2K_SHIM " K2K_IO_LIBRARY=" K2K_SHIM_BOUNCE " K2K_BOUNCE_SPLIT=1",
            K2K_FAULT_PROBE " torn . 5");
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    out = outcome.out;
  }
  EXPECT_NE(out, "mixes seen: 0\nmixes left: 0\n");
}

}  // namespace
}  // namespace k2k::faults::shim_test
