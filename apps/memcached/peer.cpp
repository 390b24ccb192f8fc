#include "apps/memcached/peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace k2k::memcached {

std::uint32_t free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.number(), plain, length) != 0) return 0;
  if (::getsockname(socket.number(), plain, &length) != 0) return 0;
  return ntohs(address.sin_port);
}

Peer::Peer(std::uint32_t port) {
  std::vector<std::string> words = {"memcached", "-p",        "0",  "-U", std::to_string(port),
                                    "-l",        "127.0.0.1", "-m", "64"};
  if (::getuid() == 0) words.insert(words.end(), {"-u", "nobody"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (::posix_spawnp(&child_, "memcached", nullptr, nullptr, arguments.data(), environ) != 0) {
    child_ = -1;
  }
}

Peer::~Peer() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

bool Peer::answers(Client& client) {
  constexpr int tries_max = 40;
  const Nanoseconds before = client.limit;
  client.limit = Nanoseconds{50'000'000};
  bool answered = false;
  for (int tries = 0; tries < tries_max && !answered; ++tries) {
    answered = client.get("key0").ok();
    if (!answered) ::usleep(20'000);  // A closed port is told at once.
  }
  client.limit = before;
  return answered;
}

}  // namespace k2k::memcached
