#pragma once
// Messages. sendto and recvfrom are made first with MSG_DONTWAIT, then waiting until the socket is
// ready. sendmsg and sendmmsg send the checked copies of control data.

#include "services/services.hpp"

namespace k2k::services {

Answer message_without_waiting(const Request& request, Progress& progress);
std::int64_t message_waiting(const Request& request, Progress& progress, Interruption interruption);

// sendmsg or sendmmsg: -EBADF for a descriptor of K2K's own in SCM_RIGHTS, -ENOBUFS for control
// data above control_bytes_max; otherwise as Linux answers. May wait for the peer.
std::int64_t send_messages(const Request& request);
inline constexpr std::size_t control_bytes_max = std::size_t{1} << 20;

}  // namespace k2k::services
