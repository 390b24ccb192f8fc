#pragma once
// Messages and connections. sendto, recvfrom, sendmsg and recvmsg are made first with MSG_DONTWAIT,
// then waiting until the socket is ready. sendmsg and sendmmsg send the copies of control data that
// were looked at.
//
// connect: no flag of the call keeps it from waiting, and O_NONBLOCK belongs to the open file,
// which the host program shares. So the first try only says what the call waits for. A thread that
// can end its own calls by a signal (server/waits) makes it: of TCP, the connection then goes on in
// Linux, and the same call, made again once the socket is ready, has the result.

#include "services/nested.hpp"
#include "services/services.hpp"

namespace k2k::services {

Answer message_without_waiting(const Request& request, Progress& progress);
std::int64_t message_waiting(const Request& request, Progress& progress, Interruption interruption);

// sendmsg or sendmmsg: -EBADF for a descriptor of K2K's own in SCM_RIGHTS, -ENOBUFS for control
// data above control_bytes_max; otherwise as Linux answers. May wait for the peer.
std::int64_t send_messages(const Request& request);

// The first try never makes a call that could wait. Later ones may: -EINTR is answered as a call
// that waits for what it waited for.
Answer connect_without_waiting(const Request& request, Progress& progress);
std::int64_t connect_waiting(const Request& request, const Progress& progress);

}  // namespace k2k::services
