#pragma once
// A work-group serves datagrams: recvfrom, look up, sendto, at work-group scope, blocking, with
// weak order (thesis, section 3.8.4: the best manner for this program).
//
// A datagram without a request ends the group if the host has asked for it: the host sends such a
// one for each group.
//
// `How` makes the calls: Wrapped by K2K, or direct.hpp's by libc.
//
// Threading: device code; every item of a group calls serve().

#include "apps/memcached/job.hpp"
#include "device/k2k.hpp"

namespace k2k::memcached {

struct DeviceLanes {
  Entry* held = nullptr;  // The group's place for an element; null: elements are read in place.
  // Asked for once: on the cpu backend each question is a call, and the search asks at each tag.
  std::uint32_t item = 0;
  std::uint32_t items = 1;

  [[nodiscard]] K2K_DEVICE std::uint32_t rank() const { return item; }
  [[nodiscard]] K2K_DEVICE std::uint32_t size() const { return items; }
  K2K_DEVICE static void barrier() { k2k::barrier(); }
  K2K_DEVICE static void yield() { k2k::yield(); }
  [[nodiscard]] K2K_DEVICE Entry* copy() const { return held; }
};

K2K_DEVICE inline DeviceLanes lanes_of(const Job& job, Copies& copies) {
  return {job.copies ? &copies.entry : nullptr, k2k::item_rank(), k2k::group_size()};
}

// Counts in the group's own memory and tells the host, which reads each number by itself.
K2K_DEVICE inline void add_one(std::uint64_t& counted, std::uint64_t& counter) {
  protocol::store_hint(&counter, ++counted);
}

// Where the lanes read the datagram that arrived.
K2K_DEVICE inline const unsigned char* reach_datagram(const Job& job, const Seat& seat, long got,
                                                      Copies& copies) {
  if (!job.copies || got <= 0) return seat.request;
  apps::copy_wide(copies.request, seat.request, static_cast<std::size_t>(got), k2k::item_rank(),
                  k2k::group_size());
  k2k::barrier();
  return copies.request;
}

// Does the host want the group to end? All items get item 0's answer.
K2K_DEVICE inline bool is_to_stop(const Job& job, Talk& talk) {
  if (k2k::item_rank() == 0) talk.stop = load_word(*job.stop);
  k2k::barrier();
  const bool stop = talk.stop != 0;
  k2k::barrier();  // Every item has read it, and nobody reads the datagram any more.
  return stop;
}

struct Wrapped {
  K2K_DEVICE static long receive(const Job& job, Seat& seat) {
    return k2k::recvfrom(k2k::work_group, k2k::relaxed, job.socket, seat.request,
                         sizeof(seat.request), 0, seat.address, &seat.address_length);
  }
  K2K_DEVICE static long answer(const Job& job, const Seat& seat, std::size_t bytes) {
    return k2k::sendto(k2k::work_group, k2k::relaxed, job.socket, seat.answer, bytes, 0,
                       seat.address, static_cast<std::uint32_t>(address_bytes));
  }
  // With the client's address before the datagram.
  K2K_DEVICE static long forward(const Job& job, const Seat& seat, std::size_t bytes) {
    return k2k::sendto(k2k::work_group, k2k::relaxed, job.inner_from, seat.address, bytes, 0,
                       nullptr, 0u);
  }
};

template <class How>
K2K_SHARED_CODE K2K_DEVICE inline void serve(const Job& job) {
  K2K_LOCAL(Talk, talk);
  K2K_LOCAL(Copies, copies);
  const DeviceLanes lanes = lanes_of(job, copies);
  Seat& seat = job.seats[k2k::group_rank()];
  ServeCounters& counters = job.counters[k2k::group_rank()];
  ServeCounters counted;
  const bool first = k2k::item_rank() == 0;
  while (true) {
    if (first) seat.address_length = address_bytes;
    const long got = How::receive(job, seat);
    const unsigned char* const datagram = reach_datagram(job, seat, got, copies);
    const Request request = parse(datagram, got < 0 ? 0 : static_cast<std::size_t>(got));
    if (request.kind == Kind::garbage) {
      if (first) add_one(counted.dropped, counters.dropped);
      if (is_to_stop(job, talk)) return;
      continue;
    }
    long sent = 0;
    if (request.kind == Kind::get) {
      const std::size_t bytes = answer_get(lanes, talk, job.table, request, datagram, seat.answer);
      sent = How::answer(job, seat, bytes);
      if (first) add_one(counted.gets, counters.gets);
    } else {
      sent = How::forward(job, seat, address_bytes + static_cast<std::size_t>(got));
      if (first) add_one(counted.forwarded, counters.forwarded);
    }
    if (first && sent < 0) add_one(counted.unsent, counters.unsent);
  }
}

}  // namespace k2k::memcached
