// Goal: the benchmark of file data into a GPU's memory compares bytes, and says what it measured.
// Method: the program, on the driver that is a CPU program (emulator/cuda); and its file alone.

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/command_fixture.hpp"
#include "base/temporary_folder.hpp"
#include "bench/gpu/file_data.hpp"

namespace k2k::bench {
namespace {

using nlohmann::json;

const std::string on_emulated_driver = "LD_LIBRARY_PATH=" K2K_EMULATED_DRIVER " ";
const std::string program = K2K_FILE_BENCH;

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST(FileBench, moves_the_right_bytes_by_every_way_in_every_cell) {
  const Result<TemporaryFolder> folder = TemporaryFolder::create("file-bench");
  ASSERT_TRUE(folder.ok());
  const CommandOutcome outcome = run_command(on_emulated_driver + program + " --folder " +
                                             folder->path() + " --mib 16 --seconds 0");
  EXPECT_EQ(outcome.status, 0);
  const std::vector<json> lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 1u + 3 * 4);
  EXPECT_EQ(lines[0]["schema"], 1);
  EXPECT_EQ(lines[0]["cufile"], "not asked for (--cufile)");
  EXPECT_NE(lines[0]["gdrcopy"].get<std::string>().find("libgdrapi.so.2"), std::string::npos);
  for (std::size_t at = 1; at < lines.size(); ++at) {
    const json& cell = lines[at];
    EXPECT_GE(cell["rounds"], 2) << cell;
    for (const char* way : {"k2k", "pinned", "pageable"}) {
      EXPECT_EQ(cell["ways"][way]["wrong_words"], 0) << cell;
      EXPECT_GT(cell["ways"][way]["gbs"], 0.0) << cell;
    }
    EXPECT_GT(cell["ratios"]["pinned"]["low"], 0.0) << cell;
    EXPECT_FALSE(cell["ratios"].contains("k2k")) << cell;
    if (cell["direction"] == "read") {
      const std::uint64_t bytes = cell["k2k_bytes_cache"].get<std::uint64_t>() +
                                  cell["k2k_bytes_direct"].get<std::uint64_t>();
      const std::uint64_t passes = cell["rounds"].get<std::uint64_t>() + 1;  // One is not counted.
      EXPECT_EQ(bytes, cell["pass_mib"].get<std::uint64_t>() * passes << 20) << cell;
    }
  }
}

TEST(FileBench, names_a_missing_driver_and_a_folder_that_takes_no_file) {
  const CommandOutcome none = run_command("LD_LIBRARY_PATH= " + program + " 2>&1");
  if (none.status == 0) GTEST_SKIP() << "this machine has a CUDA driver";
  EXPECT_EQ(none.status, 77);
  EXPECT_NE(none.out.find("libcuda.so.1"), std::string::npos) << none.out;
  const CommandOutcome odd =
      run_command(on_emulated_driver + program + " --folder /nowhere --mib 8 2>&1");
  EXPECT_EQ(odd.status, 1);
  EXPECT_NE(odd.out.find("--folder"), std::string::npos) << odd.out;
}

TEST(FileBench, says_why_cufile_is_missing) {
  const CommandOutcome outcome =
      run_command(on_emulated_driver + program + " --folder /tmp --mib 8 --seconds 0 --cufile");
  ASSERT_EQ(outcome.status, 0);
  const json head = lines_of(outcome.out)[0];
  if (head["cufile"] == "there") GTEST_SKIP() << "this machine has libcufile";
  EXPECT_NE(head["cufile"].get<std::string>().find("libcufile.so.0"), std::string::npos) << head;
}

// The library that plays the vendors' for the tests of src/io, by the name of GDRCopy's.
TEST(FileBench, stores_to_a_mapping_by_gdrcopy_where_it_is_there) {
  const Result<TemporaryFolder> folder = TemporaryFolder::create("file-bench-gdrcopy");
  ASSERT_TRUE(folder.ok());
  std::filesystem::create_symlink(K2K_GDRCOPY, folder->path() + "/libgdrapi.so.2");
  const CommandOutcome outcome =
      run_command("LD_LIBRARY_PATH=" K2K_EMULATED_DRIVER ":" + folder->path() + " " + program +
                  " --folder " + folder->path() + " --mib 16 --seconds 0");
  ASSERT_EQ(outcome.status, 0);
  const std::vector<json> lines = lines_of(outcome.out);
  EXPECT_EQ(lines[0]["gdrcopy"], "there");
  int reads = 0;
  for (const json& cell : lines) {
    if (!cell.contains("direction") || cell["direction"] != "read") continue;
    ++reads;
    EXPECT_EQ(cell["ways"]["gdrcopy"]["wrong_words"], 0) << cell;
    EXPECT_GT(cell["ways"]["gdrcopy"]["gbs"], 0.0) << cell;
  }
  EXPECT_EQ(reads, 2 * 4);
}

TEST(FileBench, says_when_the_device_has_too_little_memory) {
  const CommandOutcome outcome = run_command("EMULATED_CUDA_MEMORY_MB=8 " + on_emulated_driver +
                                             program + " --folder /tmp --mib 16 2>&1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("cannot allocate device memory"), std::string::npos) << outcome.out;
}

TEST(FileBench, refuses_words_that_it_does_not_know) {
  for (const char* words : {"--mib", "--mib 7", "--mib x", "--seconds -1", "all"}) {
    const CommandOutcome outcome = run_command(program + " " + words + " 2>&1");
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_NE(outcome.out.find("usage:"), std::string::npos) << outcome.out;
  }
}

TEST(FileData, finds_each_word_that_differs) {
  std::vector<std::byte> memory(8192);
  fill_content(memory, 4096, 1);
  EXPECT_EQ(wrong_words(memory, 4096, 1), 0u);
  EXPECT_EQ(wrong_words(memory, 4096, 2), 1024u);
  EXPECT_EQ(wrong_words(memory, 0, 1), 1024u);
  memory[8191] ^= std::byte{1};
  memory[0] ^= std::byte{1};
  EXPECT_EQ(wrong_words(memory, 4096, 1), 2u);
}

TEST(FileData, tells_a_file_with_another_content_and_what_is_cached) {
  const Result<TemporaryFolder> folder = TemporaryFolder::create("file-data");
  ASSERT_TRUE(folder.ok());
  const auto made = FileData::make(folder->path(), 2 << 20, 1);
  ASSERT_TRUE(made.ok()) << made.error().message;
  FileData& file = **made;
  EXPECT_EQ(file.wrong(2 << 20, 1).value(), 0u);
  EXPECT_EQ(file.wrong(2 << 20, 2).value(), (2u << 20) / 8);
  EXPECT_EQ(file.cached_share(2 << 20).value(), 1.0);
  file.evict();  // A tmpfs keeps its pages.
  file.cache(2 << 20);
  EXPECT_EQ(file.cached_share(2 << 20).value(), 1.0);
  ASSERT_TRUE(file.write_all(2).ok());
  EXPECT_EQ(file.wrong(2 << 20, 2).value(), 0u);
}

}  // namespace
}  // namespace k2k::bench
