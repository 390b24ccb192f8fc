#pragma once
// For the tests of calls that wait for several descriptors: what such a call names, and its peers.

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "calls/rows.hpp"
#include "server/waits/descriptor_waits_fixture.hpp"

namespace k2k::server {

struct Scene {
  Scene() {
    for (auto& pipe : pipes) EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK), 0);
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, stream.data()),
              0);
    const std::string much(4'096, 'x');
    while (::write(stream[0], much.data(), much.size()) > 0) continue;
    file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (fd_set& set : sets) FD_ZERO(&set);
  }
  ~Scene() {
    for (auto& pipe : pipes) {
      for (const int end : pipe) close(end);
    }
    for (const int end : stream) close(end);
    close(file);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  static void close(int descriptor) {
    if (descriptor >= 0) ::close(descriptor);
  }
  void close_now(int& descriptor) {
    ::close(descriptor);
    descriptor = -1;
  }
  // Fills in and returns a request.
  template <class... Arguments>
  services::Request make(std::uint16_t number, Arguments... arguments) {
    services::Request request;
    request.number = number;
    request.row = static_cast<std::int16_t>(calls::find(number));
    int index = 0;
    ((request.arguments[index++] = (std::uint64_t)(arguments)), ...);
    return request;
  }
  services::Request poll(int timeout_ms) {
    return make(__NR_poll, list.data(), list.size(), timeout_ms);
  }
  services::Request ppoll(timespec limit) {
    time = {limit.tv_sec, limit.tv_nsec};
    return make(__NR_ppoll, list.data(), list.size(), &time, 0, 8);
  }
  // Of all three sets, and without a limit if it is negative.
  services::Request select(timeval limit) {
    time = {limit.tv_sec, limit.tv_usec};
    return make(__NR_select, 64, &sets[0], &sets[1], &sets[2], limit.tv_sec < 0 ? nullptr : &time);
  }
  services::Request pselect6(timespec limit) {
    time = {limit.tv_sec, limit.tv_nsec};
    return make(__NR_pselect6, 64, &sets[0], &sets[1], 0, &time, 0);
  }

  std::array<std::array<int, 2>, 4> pipes{};  // Empty: nothing to read.
  std::array<int, 2> stream{};                // [0] is full: nothing can be written.
  int file = -1;
  std::vector<pollfd> list;
  std::array<fd_set, 3> sets;
  std::array<std::int64_t, 2> time{};
  std::uint64_t mask = 0;
  std::array<std::uint64_t, 2> pair = {reinterpret_cast<std::uint64_t>(&mask), 8};
};

// The reading ends of all pipes.
inline void fill_list(Scene& scene, short events = POLLIN) {
  for (const auto& pipe : scene.pipes) scene.list.push_back({pipe[0], events, 0});
}
inline void fill_sets(Scene& scene) {
  for (const auto& pipe : scene.pipes) FD_SET(pipe[0], &scene.sets[0]);
  FD_SET(scene.stream[0], &scene.sets[1]);
  FD_SET(scene.stream[0], &scene.sets[2]);
}
inline constexpr timeval endless{-1, 0};

// Writes a byte: the other end of a pipe can be read.
inline void make_readable(int descriptor) { EXPECT_EQ(::write(descriptor, "x", 1), 1); }

}  // namespace k2k::server
