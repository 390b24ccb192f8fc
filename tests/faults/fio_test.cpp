// fio's verify jobs through libk2k_io.so: mixed reads and writes of two concurrent jobs with
// buffers in device memory (registered_mmap.c), every block with its own checksum. Then the disk's
// content is verified, from an empty page cache.
//
//
//   K2K_FIO_SECONDS=600 build/release/tests/faults/faults_test --gtest_filter='*Fio*'
//
// runs each of the three engines for that many seconds, 30 minutes in all. Without it: one second
// each.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "io/file/direct_file.hpp"
#include "io/file/files_fixture.hpp"
#include "shim/tests/programs_fixture.hpp"

namespace k2k::faults::fio_test {
namespace {

using shim::Outcome;
using shim::stat_of;

int seconds_wanted() {
  const char* const wanted = std::getenv("K2K_FIO_SECONDS");
  return wanted == nullptr ? 0 : std::atoi(wanted);
}

class Fio : public shim::Programs, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    Programs::SetUp();
    if (run("A=1", "fio --version").status != 0) {
      GTEST_SKIP() << "fio is not here: apt install fio";
    }
  }

  // Runs both jobs with additional options.
  [[nodiscard]] Outcome play(const std::string& more) const {
    const std::string memory =
        fmt::format("/dev/shm/{}", std::filesystem::path(folder()).filename().string());
    const auto job = [&](const char* name, const char* blocks) {
      return fmt::format("--name={0} --bs={1} --iomem=mmap:{2}.{0}", name, blocks, memory);
    };
    const std::string command = fmt::format(
        "fio --thread --rw=randrw --verify=crc32c --verify_fatal=1 --end_fsync=1 --ioengine={} "
        "--size={} {} {} {}",
        GetParam(), seconds_wanted() > 0 ? "256m" : "8m", more, job("small", "4k"),
        job("large", "256k"));
    const std::string environment =
        fmt::format("LD_PRELOAD={}:{} K2K_IO_STATS=1 K2K_TEST_DEVICE_MEMORY={}.", K2K_SHIM,
                    K2K_REGISTERED_MMAP, memory);
    const Outcome outcome = run(environment, command, 120 + 2 * seconds_wanted());
    for (const char* name : {".small", ".large"}) std::filesystem::remove(memory + name);
    return outcome;
  }
  void expect_by_router(const Outcome& outcome) const {
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.error;
    EXPECT_GT(stat_of(outcome, "reads"), 0) << outcome.error;
    EXPECT_EQ(stat_of(outcome, "by_kernel"), 0) << outcome.error;
    EXPECT_EQ(stat_of(outcome, "without_router"), 0) << outcome.error;
  }
  [[nodiscard]] bool has_direct() const {
    const io::Opened file = io::open_file(folder() + "/small.0.0", O_RDONLY);
    return io::DirectFile::open(file.number(), io::DirectFile::Access::read).ok();
  }
};

TEST_P(Fio, verifies_writes_from_device_memory) {
  const int seconds = seconds_wanted();
  const Outcome mixed = play(
      seconds > 0 ? fmt::format("--time_based --verify_backlog=256 --runtime={}", seconds) : "");
  expect_by_router(mixed);
  EXPECT_GT(stat_of(mixed, "writes"), 0) << mixed.error;
  std::printf("%s", mixed.error.c_str());

  if (seconds > 0) return;  // Overwritten blocks must not be verified again.
  const Outcome cold = play("--verify_only");
  expect_by_router(cold);
  EXPECT_EQ(stat_of(cold, "writes"), 0) << cold.error;
  EXPECT_TRUE(!has_direct() || stat_of(cold, "bytes_direct") > 0) << cold.error;

  // fio would have reported an error.
  for (const char* job : {"small", "large"}) {
    std::fstream file(folder() + "/" + job + ".0.0", std::ios::in | std::ios::out);
    for (std::streamoff at = 1000; at < 8 << 20; at += 4096) {
      file.seekp(at);
      file.put('\0');
      file.put('\1');
    }
  }
  const Outcome wrong = play("--verify_only");
  EXPECT_NE(wrong.status, 0) << wrong.out;
  EXPECT_NE((wrong.out + wrong.error).find("verify"), std::string::npos) << wrong.error;
}

INSTANTIATE_TEST_SUITE_P(, Fio, testing::Values("sync", "psync", "pvsync2"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace k2k::faults::fio_test
