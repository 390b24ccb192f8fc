// A server without a host loop: work-items answer datagrams, and the host is only their client.
//
// A work-item that waits in recvfrom does not slow down its neighbours; `halting` also saves the
// host's polling.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <k2k/device.hpp>
#include <k2k/runtime.hpp>
#include <thread>

int main() {
  const int server = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int client = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (::bind(server, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(server, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      ::connect(client, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return std::perror("no loopback network"), 77;
  }
  auto runtime = k2k::Runtime::create({.backend = k2k::kernel_backend});
  if (!runtime) return std::fprintf(stderr, "%s\n", runtime.error().message.c_str()), 1;

  constexpr int questions = 8;
  int right = 0;
  std::thread host([client, &right] {
    for (int question = 0; question < questions; ++question) {
      char text[32];
      std::snprintf(text, sizeof(text), "question %d", question);
      char answer[32] = {};
      if (::send(client, text, std::strlen(text), 0) < 0) return;
      if (::recv(client, answer, sizeof(answer) - 1, 0) < 0) return;
      std::printf("%s -> %s\n", text, answer);
      right += std::strncmp(answer, "QUESTION", 8) == 0;
    }
  });
  // Each work-item answers one datagram, whichever it gets.
  auto report = runtime->launch({1, questions}, [=] K2K_DEVICE {
    char text[32];
    sockaddr_in from{};
    std::uint32_t from_length = sizeof(from);
    const long bytes = k2k::recvfrom(k2k::work_item, k2k::halting, server, text, sizeof(text), 0,
                                     &from, &from_length);
    for (long place = 0; place < bytes; ++place) {
      if (text[place] >= 'a' && text[place] <= 'z') text[place] -= 'a' - 'A';
    }
    if (bytes > 0) k2k::sendto(k2k::work_item, server, text, bytes, 0, &from, from_length);
  });
  host.join();
  ::close(server);
  ::close(client);
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;
  return right == questions ? 0 : 1;
}
