#pragma once
// Namespaces of this process for what has names in the machine: its network, the objects of System
// V with the POSIX queues, and the host's name.
//
// Threading: the main thread, before the process has others.

#include <cstdint>
#include <string>
#include <vector>

namespace k2k::cli::verify {

// A namespace that Linux did not give.
struct MissingNamespace {
  std::string name;                    // "network", "ipc" or "uts".
  int error = 0;                       // The errno of unshare(2), without a namespace of users.
  std::vector<std::uint16_t> calls{};  // Their cases would name or change what the machine has.
};

// Takes them. A process without the right to them takes a namespace of users, too, in which it
// keeps its identity. What is refused together is tried one by one.
std::vector<MissingNamespace> take_namespaces();

// "no ipc namespace (Operation not permitted)", and how to mend it.
std::string reason_of(const MissingNamespace& missing);

}  // namespace k2k::cli::verify
