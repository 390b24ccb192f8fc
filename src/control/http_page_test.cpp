// Goal: the page is served on this machine alone, even if clients stall, send slowly or flood it,
// and a taken port gives a clear refusal.

#include "control/http_page.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/own_descriptors.hpp"
#include "control/http_fixture.hpp"

namespace k2k::control {
namespace {

using namespace std::chrono_literals;

TEST(HttpPage, is_served_under_its_name_only) {
  const std::uint32_t port = free_port();
  int asked = 0;
  auto page = HttpPage::start(port, [&] { return "answer " + std::to_string(++asked) + "\n"; });
  ASSERT_TRUE(page.ok()) << page.error().message;
  const std::string first = send_request(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(first.find("HTTP/1.1 200 OK\r\n"), 0u) << first;
  EXPECT_NE(first.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
            std::string::npos);
  EXPECT_EQ(first.substr(first.find("\r\n\r\n") + 4), "answer 1\n");
  EXPECT_EQ(send_request(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").find("HTTP/1.1 404"), 0u);
  EXPECT_EQ(
      send_request(port, "GET /metrics/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n").find("root:"),
      std::string::npos);
  EXPECT_EQ(send_request(port, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                .find("HTTP/1.1 405"),
            0u);
  const std::string head = send_request(port, "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  page = Error{};
  EXPECT_EQ(send_request(port, "GET /metrics HTTP/1.1\r\n\r\n"), "refused");
}

TEST(HttpPage, its_socket_is_k2ks_own_for_as_long_as_it_listens) {
  const auto listening = [](std::uint32_t port) {
    for (int number = next_own(0); number < own_numbers_max; number = next_own(number + 1)) {
      sockaddr_in address{};
      socklen_t size = sizeof(address);
      ::getsockname(number, reinterpret_cast<sockaddr*>(&address), &size);
      if (address.sin_port == htons(static_cast<std::uint16_t>(port))) return true;
    }
    return false;
  };
  const std::uint32_t port = free_port();
  auto page = HttpPage::start(port, [] { return std::string(); });
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_TRUE(listening(port));
  page = Error{};
  EXPECT_EQ(next_own(0), own_numbers_max);
}

TEST(HttpPage, ends_where_the_program_closed_its_descriptors) {
  for (const int pause_ms : {0, 50}) {  // The thread may be awake, and is asleep.
    auto page = HttpPage::start(free_port(), [] { return std::string(); });
    ASSERT_TRUE(page.ok()) << page.error().message;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    for (int number = next_own(0); number < own_numbers_max; number = next_own(number + 1)) {
      ::close(number);
      set_own(number, false);
    }
    page = Error{};
  }
}

// A text may need a stack of usual size.
TEST(HttpPage, is_made_with_room_for_large_statistics) {
  const std::uint32_t port = free_port();
  const auto page = HttpPage::start(port, [] {
    volatile char large[512 << 10];
    for (std::size_t at = 0; at < sizeof(large); at += 4096) large[at] = 'x';
    return std::string(1, large[0]);
  });
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_TRUE(send_request(port, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\nx"));
}

// Connections that never finish their requests: each sends a byte now and then, and is replaced
// when it is dropped. They belong to another user if the test may become one.
class Dripping {
 public:
  Dripping(std::uint32_t port, std::size_t count) : process_(::fork()) {
    if (process_ == 0) drip(port, count);
  }
  ~Dripping() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Dripping(const Dripping&) = delete;
  Dripping& operator=(const Dripping&) = delete;

 private:
  static void drip(std::uint32_t port, std::size_t count) {
    static_cast<void>(::setuid(65'534));
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const sockaddr_in address = loopback_port(port);
    std::vector<Descriptor> all(count);
    while (true) {
      for (Descriptor& one : all) {
        if (one.open() && ::send(one.number(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) continue;
        one = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        static_cast<void>(
            ::connect(one.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
      }
      std::this_thread::sleep_for(50ms);
    }
  }

  pid_t process_;
};

TEST(HttpPage, is_served_while_others_drip) {
  const std::uint32_t port = free_port();
  const auto page = HttpPage::start(port, [] { return std::string("answer"); });
  ASSERT_TRUE(page.ok()) << page.error().message;
  const Dripping dripping(port, 200);
  std::this_thread::sleep_for(300ms);
  for (int time = 0; time < 20; ++time) {
    const Instant begun = now();
    const std::string answer = send_request(port, "GET /metrics HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(answer.ends_with("\r\n\r\nanswer")) << answer;
    ASSERT_LT(now() - begun, 1s);
    std::this_thread::sleep_for(20ms);
  }
}

// The client sends its request in pieces, each before the timeout of the piece before.
TEST(HttpPage, is_served_to_a_slow_client_while_others_drip) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user: run as root";
  const std::uint32_t port = free_port();
  const auto page = HttpPage::start(port, [] { return std::string("answer"); });
  ASSERT_TRUE(page.ok()) << page.error().message;
  const Dripping dripping(port, 200);
  std::this_thread::sleep_for(300ms);
  const Descriptor slow(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback_port(port);
  ASSERT_EQ(::connect(slow.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
            0);
  for (const char* piece : {"GET /met", "rics HT", "TP/1.1\r", "\n\r\n"}) {
    std::this_thread::sleep_for(200ms);
    ASSERT_GT(::send(slow.number(), piece, std::string_view(piece).size(), MSG_NOSIGNAL), 0);
  }
  char answer[256];
  const ssize_t bytes = ::recv(slow.number(), answer, sizeof(answer), 0);
  ASSERT_GT(bytes, 0);
  EXPECT_TRUE(
      std::string_view(answer, static_cast<std::size_t>(bytes)).starts_with("HTTP/1.1 200"));
}

// A byte now and then does not keep a request alive.
TEST(HttpPage, drops_dripping_clients_after_two_seconds) {
  const std::uint32_t port = free_port();
  const auto page = HttpPage::start(port, [] { return std::string("answer"); });
  ASSERT_TRUE(page.ok()) << page.error().message;
  const Descriptor drips(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback_port(port);
  ASSERT_EQ(::connect(drips.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
            0);
  const Instant begun = now();
  while (::send(drips.number(), "x", 1, MSG_NOSIGNAL) == 1 && now() - begun < 10s) {
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_LT(now() - begun, 5s);
}

TEST(HttpPage, refuses_malformed_requests) {
  const std::uint32_t port = free_port();
  const auto page = HttpPage::start(port, [] { return std::string("answer"); });
  ASSERT_TRUE(page.ok()) << page.error().message;
  for (const char* wrong : {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "x y z\r\n\r\n",
                            "GET /metrics HTTP\r\n\r\n", " /metrics HTTP/1.1\r\n\r\n"}) {
    EXPECT_EQ(send_request(port, wrong).find("HTTP/1.1 400"), 0u) << wrong;
  }
  const std::string endless = "GET /metrics HTTP/1.1\r\nX: " + std::string(64 << 10, 'x');
  EXPECT_EQ(send_request(port, endless).find("HTTP/1.1 431"), 0u);
  EXPECT_TRUE(send_request(port, "GET /metrics?a=b HTTP/1.0\r\n\r\n").ends_with("answer"));
}

TEST(HttpPage, port_that_is_taken_is_named) {
  std::uint32_t port = 0;
  const Descriptor held = occupy_port(port);
  const auto page = HttpPage::start(port, [] { return std::string(); });
  ASSERT_FALSE(page.ok());
  EXPECT_EQ(page.error().code, EADDRINUSE);
  const std::string number = std::to_string(port);
  EXPECT_EQ(page.error().message, "metrics.port is " + number + ": 127.0.0.1:" + number +
                                      ": Address already in use; choose another port, or 0 for "
                                      "none");
}

}  // namespace
}  // namespace k2k::control
