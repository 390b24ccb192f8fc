// Goal: each mode has the bytes of the file, in pages of the mode's size; what cannot be had is one
// line with the remedy.

#include "apps/common/input_memory.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "apps/common/input_fixture.hpp"
#include "apps/common/part_threads.hpp"
#include "base/huge_pages.hpp"

namespace k2k::apps {
namespace {

class InputMemoryTest : public InputTest {
 protected:
  // A file whose part for kernels begins at its second page.
  [[nodiscard]] InputFile file_of(const std::string& content) const {
    std::ofstream(path("in"), std::ios::binary) << std::string(4096, 'h') << content;
    auto file = open_input(path("in"));
    EXPECT_TRUE(file);
    file->offset = 4096;
    file->bytes = content.size();
    return std::move(*file);
  }
};

const std::string content = std::string(10'000, 'a') + std::string(5'000, 'b');

TEST_F(InputMemoryTest, has_the_bytes_of_the_file_in_each_mode) {
  const InputFile file = file_of(content);
  auto runtime = Runtime::create(small_device());
  ASSERT_TRUE(runtime);
  for (const Mode mode : modes_here()) {
    for (const bool host : {false, true}) {
      const auto memory = host ? InputMemory::on_host(file, mode, "test")
                               : InputMemory::create(*runtime, file, mode, "input");
      ASSERT_TRUE(memory) << memory.error().message;
      EXPECT_EQ(memory->huge_bytes(), mode == Mode::huge ? huge_page_bytes : 0);
      if (!host && mode == Mode::demand) continue;  // Only a kernel may touch it.
      EXPECT_EQ(std::string(memory->as<const char>(), content.size()), content);
      EXPECT_EQ(memory->demand_pages(), 0u);
    }
  }
}

TEST_F(InputMemoryTest, is_refused_if_linux_gives_no_huge_page) {
  const InputFile file = file_of(content);
  const Ended ended = in_child([&] {
    ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    const auto memory = InputMemory::on_host(file, Mode::huge, "test");
    if (!memory) std::fputs(memory.error().message.c_str(), stderr);
    return memory ? 0 : memory.error().code;
  });
  EXPECT_EQ(WEXITSTATUS(ended.status), ENOTSUP);
  EXPECT_EQ(ended.said,
            "Linux gave no huge page; write madvise to "
            "/sys/kernel/mm/transparent_hugepage/enabled, free memory, or take --mode pinned");
}

TEST_F(InputMemoryTest,
       of_a_file_that_became_shorter_is_refused_or_ends_the_process_with_one_line) {
  const InputFile file = file_of(content);
  cut(file.path, 4096);
  const std::string anew = "; make the file anew with --generate";
  EXPECT_EQ(refusal(file.path, InputMemory::on_host(file, Mode::pinned, "test")),
            "the file became shorter while it was in use: 4096 of 19096 bytes" + anew);
  const Ended ended = in_child([&] {
    const auto memory = InputMemory::on_host(file, Mode::demand, "test");
    return memory && *memory->as<volatile const char>() == 0 ? 2 : 3;
  });
  EXPECT_EQ(WEXITSTATUS(ended.status), 1);
  EXPECT_EQ(ended.said, "test: " + file.path +
                            ": the file became shorter while it was mapped: a page of it is gone" +
                            anew + "\n");
}

TEST_F(InputMemoryTest, of_a_file_that_became_shorter_is_told_once_by_threads) {
  constexpr std::uint32_t threads = 4;
  const InputFile file = file_of(content);
  cut(file.path, 4096);
  for (int round = 0; round < 20; ++round) {
    const Ended ended = in_child([&] {
      const auto memory = InputMemory::on_host(file, Mode::demand, "test");
      std::atomic<std::uint32_t> there{0};
      const Status ran = run_parts(threads, threads, [&](std::uint32_t) {
        ++there;
        while (there < threads) {  // All at the same time.
        }
        [[maybe_unused]] const char lost = *memory->as<volatile const char>();
      });
      return ran ? 2 : 3;
    });
    EXPECT_EQ(WEXITSTATUS(ended.status), 1);
    EXPECT_EQ(std::count(ended.said.begin(), ended.said.end(), '\n'), 1) << ended.said;
  }
}

TEST_F(InputMemoryTest, leaves_the_handler_of_cut_files_as_it_was) {
  struct sigaction before{};
  ::sigaction(SIGBUS, nullptr, &before);
  EXPECT_TRUE(InputMemory::on_host(file_of(content), Mode::demand, "test"));
  struct sigaction after{};
  ::sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(Pages, that_have_no_room_are_an_error_with_a_remedy) {
  const std::size_t beyond = std::size_t{1} << 47;
  for (const bool huge : {false, true}) {
    const auto pages = Pages::zeros(beyond, huge);
    ASSERT_FALSE(pages);
    EXPECT_EQ(pages.error().code, ENOMEM);
    EXPECT_EQ(pages.error().message,
              "no memory for 140737488355328 bytes of input (Cannot allocate memory); take --mode "
              "demand, make a smaller file, or raise the memory limit");
  }
}

TEST_F(InputMemoryTest, that_cannot_be_mapped_is_an_error_with_a_remedy) {
  InputFile file = file_of(content);
  file.bytes = std::size_t{1} << 47;
  EXPECT_EQ(refusal(file.path, InputMemory::on_host(file, Mode::demand, "test")),
            "cannot be mapped (Cannot allocate memory); take --mode pinned, or make a smaller "
            "file");
}

TEST(Modes, have_the_words_of_the_option) {
  EXPECT_EQ(mode_of("demand"), Mode::demand);
  EXPECT_EQ(mode_of("pinned"), Mode::pinned);
  EXPECT_EQ(mode_of("huge"), Mode::huge);
  EXPECT_EQ(mode_words().size(), 3u);
}

}  // namespace
}  // namespace k2k::apps
