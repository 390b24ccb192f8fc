#include "control/user_of_port.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace k2k::control {

namespace {

struct Question {
  nlmsghdr head;
  inet_diag_req_v2 what;
};
static_assert(sizeof(Question) == NLMSG_LENGTH(sizeof(inet_diag_req_v2)));

using Name = int(int, sockaddr*, socklen_t*);
bool address_of(const Descriptor& connection, Name* name, sockaddr_in& address) {
  socklen_t size = sizeof(address);
  return name(connection.number(), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         address.sin_family == AF_INET;
}

}  // namespace

std::optional<uid_t> user_of_port(const Descriptor& connection) {
  sockaddr_in own{};
  sockaddr_in other{};
  if (!address_of(connection, &::getsockname, own) ||
      !address_of(connection, &::getpeername, other)) {
    return {};
  }
  const Descriptor kernel(
      ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  if (!kernel.open()) return {};
  Question question{};
  question.head.nlmsg_len = sizeof(question);
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.what.sdiag_family = AF_INET;
  question.what.sdiag_protocol = IPPROTO_TCP;
  question.what.idiag_states = ~0u;
  // From the other end's point of view.
  question.what.id.idiag_sport = other.sin_port;
  question.what.id.idiag_dport = own.sin_port;
  question.what.id.idiag_src[0] = other.sin_addr.s_addr;
  question.what.id.idiag_dst[0] = own.sin_addr.s_addr;
  question.what.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  question.what.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(kernel.number(), &question, sizeof(question), 0) != sizeof(question)) return {};
  // Linux answers within send(2).
  alignas(nlmsghdr) char answer[1024];
  const ssize_t bytes = ::recv(kernel.number(), answer, sizeof(answer), 0);
  if (bytes < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg)))) return {};
  nlmsghdr head{};
  std::memcpy(&head, answer, sizeof(head));
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return {};
  inet_diag_msg found{};
  std::memcpy(&found, answer + NLMSG_HDRLEN, sizeof(found));
  return found.idiag_uid;
}

}  // namespace k2k::control
