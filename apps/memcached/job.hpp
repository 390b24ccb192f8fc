#pragma once
// The data of a launch of the server: plain data that host and kernel share.
//
// Every group has a seat in shared memory: the datagram that it received, the client's address, and
// its answer. On a GPU each load of shared memory crosses the bus: there a group loads datagrams
// and elements once, into its own Copies. The socket is the one that clients know; a group sends
// what is no GET, with the client's address before it, to `inner`, where threads of the host read.

#include "apps/common/split_calls.hpp"
#include "apps/common/wide_copy.hpp"
#include "apps/memcached/get.hpp"

namespace k2k::memcached {

inline constexpr std::size_t address_bytes = 16;  // sockaddr_in.

struct alignas(64) Seat {
  // Before the datagram lies the client's address, so that both are forwarded in one piece.
  unsigned char address[address_bytes];
  unsigned char request[request_bytes_max + 8];
  unsigned char before_answer[4];  // Then the value of an answer lies at a multiple of 8.
  unsigned char answer[frame_bytes + header_bytes + get_extras_bytes + value_bytes_max + 8];
  std::uint32_t address_length;
};

// In the local memory of a group.
struct Copies {
  alignas(apps::wide_bytes) unsigned char request[apps::whole_wides(sizeof(Seat::request))];
  Entry entry;
};

struct alignas(64) ServeCounters {
  std::uint64_t gets = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t dropped = 0;  // Datagrams that are no requests.
  std::uint64_t unsent = 0;   // Answers that Linux refused to send: the client has vanished.
};

enum class Step : std::uint32_t { begin, received, sent, end };

struct Job {
  Table table;
  Seat* seats = nullptr;
  ServeCounters* counters = nullptr;  // Shared: one for each group, written by it alone.
  std::uint32_t* stop = nullptr;      // Shared: the host's request to end.
  bool copies = false;                // Loads of shared memory are slow: groups use Copies.
  std::int32_t socket = -1;
  std::int32_t inner_from = -1;  // Connected to the socket where the host's threads read.
  // Relaunch alone.
  Step* steps = nullptr;
  apps::SplitCall* calls = nullptr;
};

}  // namespace k2k::memcached
