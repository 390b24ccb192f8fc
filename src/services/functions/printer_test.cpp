// Goal: a print whose frame is forged is refused; a print writes its whole text, and two prints to
// one descriptor do not mix.

#include "services/functions/printer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "calls/print.hpp"
#include "router/door/files.hpp"
#include "services/fake_backend_fixture.hpp"
#include "services/functions/host_call_fixture.hpp"

namespace k2k::services {
namespace {

// The request of a print of texts.
struct PrintOf {
  PrintOf(int descriptor, std::string format_, std::vector<std::string> texts_)
      : format(std::move(format_)), texts(std::move(texts_)) {
    const auto add_buffer = [this](const std::string& text) {
      frame.push_back(reinterpret_cast<std::uint64_t>(text.data()));
      frame.push_back(text.size() << 2);
    };
    add_buffer(format);
    for (const std::string& text : texts) add_buffer(text);
    for (std::size_t index = 0; index < texts.size(); ++index) {
      frame.push_back(static_cast<std::uint64_t>(calls::PrintType::text));
      frame.push_back(0);
    }
    calls::HostLayout layout;
    layout.buffers = 1 + texts.size();
    layout.argument_bytes = texts.size() * sizeof(calls::PrintValue);
    request.number = calls::host_call_number;
    request.arguments[calls::host_id_word] = calls::host_id(calls::print_name);
    request.arguments[calls::host_signature_word] = static_cast<std::uint64_t>(descriptor);
    request.arguments[calls::host_frame_word] = reinterpret_cast<std::uint64_t>(frame.data());
    request.arguments[calls::host_frame_bytes_word] = frame.size() * 8;
    request.arguments[calls::host_shape_word] = layout.shape();
  }
  std::string format;
  std::vector<std::string> texts;
  std::vector<std::uint64_t> frame;
  Request request;
};

class PrinterTest : public testing::Test {
 protected:
  PrinterTest() { EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0); }
  ~PrinterTest() override {
    for (const int end : pipe) ::close(end);
  }
  std::int64_t run(const Request& request) { return printer.run(request, {}, files, host_run); }
  [[nodiscard]] std::string piped() const {
    std::string text(256, '\0');
    const ssize_t count = ::read(pipe[0], text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  }

  FakeBackend backend;
  CallerMemory memory{backend};
  Printer printer{memory};
  router::Files files;
  CountingRun host_run;
  std::array<int, 2> pipe{};
};

TEST_F(PrinterTest, writes_the_text) {
  EXPECT_EQ(run(PrintOf(pipe[1], "<{}|{}>", {"one", "two"}).request), 9);
  EXPECT_EQ(piped(), "<one|two>");
  EXPECT_EQ(host_run.begun, 1);
  EXPECT_EQ(host_run.ended, 1);
}

TEST_F(PrinterTest, refuses_forged_frames) {
  const auto answer = [&](auto forge) {
    PrintOf print(pipe[1], "<{}>", {"text"});
    forge(print);
    return run(print.request);
  };
  using calls::host_frame_bytes_word;
  using calls::host_frame_word;
  using calls::host_shape_word;
  const auto framed = calls::HostLayout::framed;
  const auto with_shape = [&](std::uint64_t shape) {
    return answer([&](PrintOf& print) { print.request.arguments[host_shape_word] = shape; });
  };
  const auto with_bytes = [&](std::uint64_t bytes) {
    return answer([&](PrintOf& print) { print.request.arguments[host_frame_bytes_word] = bytes; });
  };
  EXPECT_EQ(with_shape(0), -EPROTO);
  EXPECT_EQ(with_shape(2), -EPROTO) << "without the bit";
  EXPECT_EQ(with_shape(framed), -EPROTO) << "no buffer";
  EXPECT_EQ(with_shape(framed | 0xffff), -EPROTO);
  EXPECT_EQ(with_shape(framed | 8u << 16 | 2), -EPROTO) << "a reply";
  EXPECT_EQ(with_shape(framed | std::uint64_t{1} << 40 | 2), -EPROTO) << "bits without a meaning";
  EXPECT_EQ(with_shape(framed | 3), -EINVAL) << "a text without an argument";
  EXPECT_EQ(with_bytes(0), -EPROTO);
  EXPECT_EQ(with_bytes(40), -EPROTO);
  EXPECT_EQ(with_bytes(~std::uint64_t{0}), -EPROTO);
  EXPECT_EQ(with_bytes(std::uint64_t{1} << 40), -EPROTO);
  EXPECT_EQ(answer([](PrintOf& print) { print.request.arguments[host_frame_word] = 16; }), -EFAULT);
  EXPECT_EQ(answer([](PrintOf& print) { print.frame[2] = 16; }), -EFAULT);
  EXPECT_EQ(answer([](PrintOf& print) { print.frame[3] |= 1; }), -EPROTO) << "another direction";
  EXPECT_EQ(answer([](PrintOf& print) { print.frame[4] = 77; }), -EINVAL);
  EXPECT_EQ(answer([](PrintOf& print) { print.format[1] = '}'; }), -EINVAL);
  EXPECT_EQ(host_run.begun, 0);
}

TEST_F(PrinterTest, fails_as_write_does) {
  EXPECT_EQ(run(PrintOf(-1, "x", {}).request), -EBADF);
  EXPECT_EQ(run(PrintOf(pipe[0], "x", {}).request), -EBADF) << "the end for reading";
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(run(PrintOf(full, "x", {}).request), -ENOSPC);
  ::close(full);
}

TEST_F(PrinterTest, does_not_write_to_descriptors_of_k2k) {
  const Descriptor own(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(run(PrintOf(own.number(), "x", {}).request), -EBADF);
}

TEST_F(PrinterTest, waits_for_a_pipe_that_is_full_although_it_does_not_block) {
  ASSERT_EQ(::fcntl(pipe[1], F_SETFL, O_NONBLOCK), 0);
  constexpr std::size_t bytes = 200'000;
  std::thread reader([this] {
    std::array<char, 4096> part{};
    for (std::size_t left = bytes; left != 0;) {
      const ssize_t count = ::read(pipe[0], part.data(), part.size());
      ASSERT_GT(count, 0);
      left -= static_cast<std::size_t>(count);
    }
  });
  EXPECT_EQ(run(PrintOf(pipe[1], "{}", {std::string(bytes, 'x')}).request), std::int64_t{bytes});
  reader.join();
}

TEST_F(PrinterTest, gives_one_print_after_another_a_descriptor) {
  ASSERT_GE(::fcntl(pipe[1], F_SETPIPE_SZ, 4096), 4096);
  constexpr std::size_t bytes = 20'000;  // Several writes each.
  std::vector<std::thread> prints;
  for (const char letter : {'a', 'b', 'c'}) {
    prints.emplace_back([this, letter] {
      CountingRun own_run;
      const PrintOf print(pipe[1], "{}", {std::string(bytes, letter)});
      EXPECT_EQ(printer.run(print.request, {}, files, own_run), std::int64_t{bytes});
    });
  }
  // Another descriptor is not held up by the full pipe.
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(run(PrintOf(null, "x", {}).request), 1);
  ::close(null);
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < 3 * bytes) {
    const ssize_t count = ::read(pipe[0], part.data(), part.size());
    ASSERT_GT(count, 0);
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  for (std::thread& print : prints) print.join();
  for (std::size_t index = 0; index < 3; ++index) {
    const std::string one = text.substr(index * bytes, bytes);
    EXPECT_EQ(one, std::string(bytes, one[0]));
  }
}

}  // namespace
}  // namespace k2k::services
