#pragma once
// sendto and recvfrom: first with MSG_DONTWAIT, then waiting until the socket is ready.

#include "services/services.hpp"

namespace k2k::services {

Answer message_without_waiting(const Request& request, Progress& progress);
std::int64_t message_waiting(const Request& request, Progress& progress, Interruption interruption);

}  // namespace k2k::services
