// Goal: the page is served on this machine alone, and a port that is taken is a clear refusal.

#include "control/http_page.hpp"

#include <cerrno>

#include "control/http_fixture.hpp"

namespace k2k::control {
namespace {

TEST(HttpPage, is_served_under_its_name_and_nothing_else_is) {
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

// civetweb's own threads have 100 KiB of stack.
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

TEST(HttpPage, port_that_is_taken_is_named) {
  std::uint32_t port = 0;
  const host::Descriptor held = occupy_port(port);
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
