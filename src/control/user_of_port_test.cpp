// Goal: Linux reports the user of a connection's other end, and nothing for any other address.

#include "control/user_of_port.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "control/http_fixture.hpp"

namespace k2k::control {
namespace {

TEST(UserOfPort, is_the_user_of_the_connection) {
  std::uint32_t port = 0;
  const Descriptor listening = occupy_port(port);
  const uid_t other = ::geteuid() == 0 ? 65'534 : ::geteuid();
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(::setuid(other));
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback_port(port);
    static_cast<void>(
        ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    while (true) ::pause();
  }
  const Descriptor accepted(::accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(accepted.open());
  const std::optional<uid_t> user = user_of_port(accepted);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (!user) GTEST_SKIP() << "this machine does not answer sock_diag(7)";
  EXPECT_EQ(*user, other);
  EXPECT_FALSE(user_of_port(listening).has_value()) << "a listening socket has no other end";
  EXPECT_FALSE(user_of_port(Descriptor()).has_value());
}

}  // namespace
}  // namespace k2k::control
