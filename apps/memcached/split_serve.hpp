#pragma once
// The same work in pieces, for the relaunch baseline (apps/common/split_calls.hpp). The host
// receives without waiting, because a round of calls ends with its slowest one.
//
//   begin ─▶ leaves recvfrom ─▶ received ─▶ leaves sendto ─▶ sent = begin
//
// Threading: device code; every item of a group calls serve_piece() once a launch.

#include "apps/memcached/serve.hpp"

namespace k2k::memcached {

// x86-64, as calls/rows.hpp.
inline constexpr std::int32_t number_sendto = 44;
inline constexpr std::int32_t number_recvfrom = 45;
inline constexpr std::int32_t dont_wait = 0x40;  // MSG_DONTWAIT

K2K_DEVICE inline std::uint64_t address_word(const void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

K2K_DEVICE inline void leave_receive(const Job& job, Seat& seat, Step& step,
                                     apps::SplitCall& call) {
  step = load_word(*job.stop) != 0 ? Step::end : Step::received;
  if (step == Step::end) return call.leave_none();
  seat.address_length = address_bytes;
  call.leave(number_recvfrom, job.socket, address_word(seat.request), sizeof(seat.request),
             dont_wait, address_word(seat.address), address_word(&seat.address_length));
}

// A group ends with its piece, so its numbers are kept where the host reads them.
K2K_DEVICE inline void add_one(std::uint64_t& counter) {
  std::uint64_t counted = counter;
  add_one(counted, counter);
}

K2K_SHARED_CODE K2K_DEVICE inline void serve_piece(const Job& job) {
  K2K_LOCAL(Talk, talk);
  K2K_LOCAL(Copies, copies);
  const DeviceLanes lanes = lanes_of(job, copies);
  Seat& seat = job.seats[k2k::group_rank()];
  Step& step = job.steps[k2k::group_rank()];
  apps::SplitCall& call = job.calls[k2k::group_rank()];
  ServeCounters& counters = job.counters[k2k::group_rank()];
  const bool first = k2k::item_rank() == 0;
  const std::int64_t result = call.result;
  const bool received = step == Step::received;
  const unsigned char* const datagram =
      reach_datagram(job, seat, received ? static_cast<long>(result) : 0, copies);
  const Request request =
      received && result > 0 ? parse(datagram, static_cast<std::size_t>(result)) : Request();
  k2k::barrier();  // Every item has read step and call.
  if (request.kind == Kind::get) {
    const std::size_t bytes = answer_get(lanes, talk, job.table, request, datagram, seat.answer);
    if (!first) return;
    add_one(counters.gets);
    call.leave(number_sendto, job.socket, address_word(seat.answer), bytes, 0,
               address_word(seat.address), address_bytes);
    step = Step::sent;
    return;
  }
  if (!first) return;
  if (request.kind == Kind::other) {
    add_one(counters.forwarded);
    call.leave(number_sendto, job.inner_from, address_word(seat.address),
               address_bytes + static_cast<std::size_t>(result), 0, 0, 0);
    step = Step::sent;
    return;
  }
  if (received && result >= 0) add_one(counters.dropped);
  if (step == Step::sent && result < 0) add_one(counters.unsent);
  if (step != Step::end) leave_receive(job, seat, step, call);
}

}  // namespace k2k::memcached
