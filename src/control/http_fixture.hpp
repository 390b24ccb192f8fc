#pragma once
// Ports of 127.0.0.1, and a client of HTTP for one request. For tests; never installed.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"

namespace k2k::control {

inline sockaddr_in loopback_port(std::uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Listens on a port chosen by Linux, and stores it in `port`.
inline Descriptor occupy_port(std::uint32_t& port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback_port(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(socket.number(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(socket.number(), 1), 0);
  EXPECT_EQ(::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  port = ntohs(address.sin_port);
  return socket;
}

inline std::uint32_t free_port() {
  std::uint32_t port = 0;
  occupy_port(port);
  return port;
}

// The complete answer; "refused" if no process listens.
inline std::string send_request(std::uint32_t port, const std::string& request) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback_port(port);
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    return "refused";
  }
  if (::send(socket.number(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "refused";
  std::string text;
  char piece[4096];
  ssize_t count = 0;
  while ((count = ::recv(socket.number(), piece, sizeof(piece), 0)) > 0) {
    text.append(piece, static_cast<std::size_t>(count));
  }
  return text;
}

// The metrics page without the HTTP head; "" if it is missing.
inline std::string fetch_metrics(std::uint32_t port) {
  const std::string text = send_request(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::size_t head = text.find("\r\n\r\n");
  return head == std::string::npos ? "" : text.substr(head + 4);
}

}  // namespace k2k::control
