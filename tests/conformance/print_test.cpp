// Goal: text of kernels is whole: no line is torn or lost, and the lines of a work-item keep their
// order, however many work-items print at once.

#include <fcntl.h>

#include <cstring>
#include <map>
#include <sstream>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::print_test {
namespace {

class Print : public DeviceUnderTest {};
K2K_EVERY_DEVICE(Print);

TEST_P(Print, formats_every_type_as_the_host_does) {
  Runtime runtime = start([](RuntimeConfig& config) { config.device.strict = true; });
  const TemporaryFile file;
  long written = 0;
  long empty = -1;
  launch(runtime, 1, 1, [&] {
    const char* const text = "text";
    written =
        k2k::print_to(k2k::work_item, file.fd, "{} {} {:.3f} {} {} {:#x} {:>6}|{:*^6}|{{}} {}\n",
                      -7, 8u, 2.5, 'c', true, 255, text, text, static_cast<const void*>(nullptr));
    empty = k2k::print_to(k2k::work_item, file.fd, "");
  });
  const std::string expected = "-7 8 2.500 c true 0xff   text|*text*|{} 0x0\n";
  EXPECT_EQ(file.content(), expected);
  EXPECT_EQ(written, static_cast<long>(expected.size()));
  EXPECT_EQ(empty, 0);
}

TEST_P(Print, keeps_zero_bytes) {
  Runtime runtime = start([](RuntimeConfig& config) { config.device.strict = true; });
  const TemporaryFile file;
  launch(runtime, 1, 1, [&] {
    const char bytes[] = {'a', '\0', 'b', '\0'};
    k2k::print_to(k2k::work_item, file.fd, "[{}]\0[{}]", k2k::in(bytes, 4), 1);
  });
  EXPECT_EQ(file.content(), std::string("[a\0b\0]\0[1]", 10));
}

TEST_P(Print, takes_any_number_of_arguments) {
  Runtime runtime = start([](RuntimeConfig& config) { config.device.strict = true; });
  const TemporaryFile file;
  launch(runtime, 1, 1, [&] {
    k2k::print_to(k2k::work_item, file.fd, "{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}", 0, 1, 2, 3,
                  4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  });
  EXPECT_EQ(file.content(), "01234567890123456789");
}

TEST_P(Print, tears_and_loses_no_line_and_keeps_each_items_order) {
  Runtime runtime = start([](RuntimeConfig& config) { config.device.strict = true; });
  // A pipe takes writes of more than PIPE_BUF in parts, and here it is often full.
  Pair pipe;
  ASSERT_GE(::fcntl(pipe.out(), F_SETPIPE_SZ, 4096), 4096);
  constexpr std::uint32_t rounds = 4;
  std::string text;
  std::thread reader([&] { text = read_all(pipe.in(), std::size_t{1} << 30); });
  launch(runtime, 4, 32, [&] {
    char long_text[5000];
    std::memset(long_text, 'a' + static_cast<char>(item_rank() % 26), sizeof(long_text));
    for (std::uint32_t round = 0; round < rounds; ++round) {
      k2k::print_to(k2k::work_item, pipe.out(), "{} {} {}\n", global_rank(), round,
                    k2k::in(long_text, sizeof(long_text)));
    }
  });
  pipe.close(1);
  reader.join();
  std::istringstream lines(text);
  std::map<std::uint64_t, std::uint32_t> next;
  std::uint32_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    std::istringstream parts(line);
    std::uint64_t rank = 0;
    std::uint32_t round = 0;
    std::string body;
    parts >> rank >> round >> body;
    ASSERT_EQ(body, std::string(5000, static_cast<char>('a' + rank % 32 % 26)));
    ASSERT_EQ(round, next[rank]++);
  }
  EXPECT_EQ(count, 128u * rounds);
}

TEST_P(Print, fails_as_write_does) {
  Runtime runtime = start();
  std::array<int, 2> errors{};
  launch(runtime, 1, 1, [&] {
    errors[0] = k2k::print_to(k2k::work_item, -1, "x").error();
    errors[1] = k2k::print_to(k2k::work_group, k2k::detached, -1, "{}", 1).error();
  });
  EXPECT_EQ(errors[0], EBADF);
  EXPECT_EQ(errors[1], 0);
  ASSERT_EQ(runtime.drain().value().size(), 1u);
}

}  // namespace
}  // namespace k2k::conformance::print_test
