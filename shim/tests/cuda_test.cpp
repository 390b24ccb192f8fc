// Goal: programs with memory of cudaMalloc() under libk2k_io.so print the same as with ordinary
// memory and without the library. Method: a CUDA of the tests' own (io/memory/vendor_fixture), with
// memory that the CPU cannot address: an access ends the program.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "shim/tests/programs_fixture.hpp"

namespace k2k::shim {
namespace {

std::string preloaded_and(const std::string& more) {
  return "LD_PRELOAD=" K2K_SHIM " K2K_IO_STATS=1 " + more;
}

class CudaPrograms : public Programs {
 protected:
  [[nodiscard]] Outcome play(const std::string& scene, const std::string& environment = "") const {
    return play_in(K2K_CUDA_PROBE, scene, preloaded_and(environment));
  }
};

class CudaScenes : public CudaPrograms, public testing::WithParamInterface<const char*> {
 protected:
  void expect_same_as_on_the_host(const Outcome& with) const {
    const Outcome host = play_in(K2K_CUDA_PROBE, GetParam(), "PROBE_HOST=1");
    ASSERT_EQ(host.status, 0) << host.error;
    ASSERT_NE(host.out, "");
    EXPECT_EQ(with.status, 0) << with.error;
    EXPECT_EQ(with.out, host.out) << with.error;
    EXPECT_EQ(stat_of(with, "without_router"), 0) << with.error;
    EXPECT_GT(stat_of(with, "reads") + stat_of(with, "by_kernel"), 0) << with.error;
  }
};

TEST_P(CudaScenes, look_as_on_the_host) { expect_same_as_on_the_host(play(GetParam())); }

TEST_P(CudaScenes, look_the_same_in_a_library_of_local_scope) {
  expect_same_as_on_the_host(
      play_in(K2K_CUDA_LOADER, GetParam(), preloaded_and("K2K_SCENES=" K2K_CUDA_SCENES)));
}

INSTANTIATE_TEST_SUITE_P(, CudaScenes, testing::Values("reads", "writes", "streams", "forking"),
                         [](const auto& one) { return std::string(one.param); });

TEST_F(CudaPrograms, without_the_library_the_kernel_cannot_address_the_memory) {
  const Outcome without = play_in(K2K_CUDA_PROBE, "reads", "A=1");
  EXPECT_NE(without.out.find("read: -1 EFAULT"), std::string::npos) << without.out;
}

// Of the tests' own CUDA, whose memory neither the CPU nor Linux can address, and of the driver
// that executes PTX (emulator/cuda).
class UnmodifiedCudaProgram : public CudaPrograms {
 protected:
  void SetUp() override {
    CudaPrograms::SetUp();
    std::ofstream file(folder() + "/data");
    for (int at = 0; at < 400'000; ++at) file << at << '\n';
  }
  [[nodiscard]] Outcome play_with(const std::string& drivers,
                                  const std::string& environment) const {
    return run("LD_LIBRARY_PATH=" + drivers + " " + environment,
               K2K_CUDA_UNMODIFIED " " + folder() + "/data");
  }
};

TEST_F(UnmodifiedCudaProgram, reads_and_writes_files_through_the_library) {
  for (const char* drivers : {K2K_FIXTURE_DRIVER, K2K_EMULATED_DRIVER}) {
    const Outcome outcome = play_with(drivers, preloaded_and(""));
    EXPECT_EQ(outcome.status, 0) << drivers << outcome.error;
    EXPECT_EQ(outcome.out,
              "pread: 2688890 bytes, right\n"
              "read: 2688890 bytes, right\n"
              "pwrite: 2688890 bytes, right\n")
        << drivers;
    EXPECT_GT(stat_of(outcome, "reads"), 200) << outcome.error;
    EXPECT_EQ(stat_of(outcome, "writes"), 3) << outcome.error;
    EXPECT_EQ(stat_of(outcome, "without_router"), 0) << outcome.error;
  }
}

TEST_F(UnmodifiedCudaProgram, without_the_library_gets_efault_and_says_so) {
  const Outcome outcome = play_with(K2K_FIXTURE_DRIVER, "A=1");
  EXPECT_EQ(outcome.status, 3) << outcome.error;
  EXPECT_EQ(outcome.out, "pread: Bad address\n");
}

TEST_F(CudaPrograms, memory_is_served_from_its_allocation_to_its_free) {
  const Outcome outcome = play("allocations");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find("driver: 0\n")),
            "fails: 2, untouched\n"
            "nothing: 1\n"
            "free of null: 0\n"
            "free of what is not: 1\n"
            "read: 100000\n"
            "beyond it: -1 EFAULT\n"
            "free of its middle: 1\n"
            "read: 100\n"
            "free fails: 700\n"
            "it is still there: 100\n"
            "free: 0\n"
            "freed: -1 EFAULT\n"
            "freed: -1 EFAULT\n"
            "free again: 1\n"
            "the same place: yes\n"
            "read: 50000\n"
            "beyond it: -1 EFAULT\n"
            "free later: 0\n"
            "freed: -1 EFAULT\n");
  EXPECT_NE(outcome.out.find("managed: 0\nread: 200000\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("managed, wrong: 1\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("left: 0\n"), std::string::npos) << outcome.out;
}

// The output for one allocation: reads succeed up to its end, and until it is freed.
std::string life(const std::string& what, const std::string& bytes, const std::string& freed) {
  return what + ": 0, in order\nread: " + bytes + "\n" +
         "the file's\nbeyond it: -1 EFAULT\nfreed: 0, " + freed + "\nfreed: -1 EFAULT\n";
}

TEST_F(CudaPrograms, memory_in_the_order_of_a_stream_is_served_from_its_allocation_to_its_free) {
  const Outcome outcome = play("ordered");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.out, life("runtime", "100000", "in order") + life("its pool", "70000", "now") +
                             life("driver", "100000", "in order") +
                             life("its pool", "5000", "now") +
                             "pool: handed on\nfails: 2, untouched\nfree of null: 0\nleft: 0\n");
}

TEST_F(CudaPrograms, calls_by_number_are_served) {
  const Outcome outcome = play("numbered");
  EXPECT_EQ(outcome.out, play_in(K2K_CUDA_PROBE, "numbered", "PROBE_HOST=1").out) << outcome.error;
  EXPECT_EQ(stat_of(outcome, "by_number"), 3) << outcome.error;
}

TEST_F(CudaPrograms, rows_are_served_with_the_bytes_between_them) {
  const Outcome outcome = play("rows");
  EXPECT_EQ(outcome.out, "pitch: 1024\n" + life("rows", "20480", "now") + "no rows: 1\n");
}

TEST_F(CudaPrograms, memory_of_hip_is_served_like_memory_of_cuda) {
  // The folder in which the loader finds the tests' own library of HIP.
  const std::string found =
      "LD_LIBRARY_PATH=" +
      (std::filesystem::path(K2K_CUDA_PROBE).parent_path() / "vendor").string();
  const Outcome outcome = play("hip", found);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.out,
            life("hip", "1048576", "now") + life("later", "100000", "in order") +
                life("its pool", "100000", "now") +
                "write: 10000\nof two vendors: -1 EFAULT\ncuda beside it: 10000\nleft: 0\n")
      << outcome.error;
  const Outcome none = play("hip", found + " K2K_IO_DIRECT=cufile");
  EXPECT_NE(none.error.find("k2k_io: K2K_IO_DIRECT is 'cufile': permitted are staging and hipfile; "
                            "calls with memory of HIP go to libc\n"),
            std::string::npos)
      << none.error;
}

TEST_F(CudaPrograms, failures_of_the_device_are_the_calls) {
  const Outcome outcome = play("copies");
  EXPECT_EQ(outcome.out,
            "read: 10\n"
            "not this time: -1 EFAULT\n"
            "pread: 100\n"
            "not written: -1 EFAULT\n"
            "not written: -1 EIO\n")
      << outcome.error;
}

TEST_F(CudaPrograms, a_free_waits_for_the_reads_into_its_memory) {
  for (const char* const scene : {"freeing", "freeing_in_order"}) {
    const Outcome outcome = play(scene);
    EXPECT_EQ(outcome.out, "other answers: 0, copies to memory that was freed: 0\n")
        << scene << outcome.error;
  }
}

TEST_F(CudaPrograms, allocations_beyond_the_table_are_libcs_and_counted) {
  const Outcome outcome = play("many");
  EXPECT_EQ(outcome.out, "256 served, 44 not\nafterwards: 4096\n") << outcome.error;
  EXPECT_EQ(stat_of(outcome, "unregistered"), 44) << outcome.error;
}

TEST_F(CudaPrograms, without_a_vendors_library_there_is_no_device) {
  const Outcome without = play_in(K2K_CUDA_LOADER, "none", "A=1");
  EXPECT_EQ(without.out, "there is none\n");
  const Outcome with = play_in(K2K_CUDA_LOADER, "none", preloaded_and(""));
  EXPECT_EQ(with.out, "100 100\n");
}

TEST_F(CudaPrograms, an_unknown_direct_path_is_named_and_the_default_is_taken) {
  const Outcome outcome = play("reads", "K2K_IO_DIRECT=fast");
  EXPECT_EQ(outcome.out, play("reads").out);
  const std::string says =
      "k2k_io: environment K2K_IO_DIRECT: files.direct = 'fast'; permitted: one of staging, "
      "cufile, hipfile; the variable is ignored\n";
  const std::size_t at = outcome.error.find(says);
  ASSERT_NE(at, std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.find(says, at + 1), std::string::npos) << "once";
  EXPECT_EQ(stat_of(outcome, "without_router"), 0);
}

}  // namespace
}  // namespace k2k::shim
