#pragma once
// GET: looks a key up and writes the answer, by all lanes of a group together, or by one thread of
// the host. The lanes share the search of the bucket and the copy of the value.
//
//   barrier 1   all know the version at the beginning
//   barrier 2   all have searched: `found` is final
//   barrier 3   the answer is complete
//   barrier 4   all know whether it holds
//
// Lanes are device.hpp's DeviceLanes or HostLane: rank(), size(), barrier(), yield().
//
// Threading: table.hpp; every lane of a group calls answer_get() with the same arguments.

#include "apps/memcached/table.hpp"

namespace k2k::memcached {

inline constexpr std::uint32_t none_found = ~0u;
inline constexpr int reads_max = 1'000'000;  // Of a bucket that is written all the time.

// What the lanes of a group share during a GET.
struct Talk {
  std::uint64_t version;
  std::uint64_t bytes;
  std::uint32_t found;
  std::uint32_t again;
  std::uint32_t stop;
};

struct HostLane {
  static constexpr std::uint32_t rank() { return 0; }
  static constexpr std::uint32_t size() { return 1; }
  static void barrier() {}
  static void yield() {}
};

// The value's words into the answer, and by lane 0 the rest of it; returns its bytes.
template <class Lanes>
K2K_HD inline std::size_t put_entry(const Lanes& lanes, const Entry& entry,
                                    const unsigned char* datagram, unsigned char* answer) {
  const std::uint64_t shape = load_word(entry.shape);
  std::size_t bytes = (shape >> 16) & 0xffff;
  if (bytes > value_bytes_max) bytes = value_bytes_max;  // Half written: it will be read again.
  unsigned char* const body = answer + frame_bytes + header_bytes;
  for (std::size_t place = lanes.rank(); place * 8 < bytes; place += lanes.size()) {
    const std::uint64_t word = load_word(entry.value[place]);
    unsigned char* const to = body + get_extras_bytes + place * 8;
    __builtin_memcpy(to, &word, 8);  // The answer has room for whole words.
  }
  if (lanes.rank() == 0) put32(body, static_cast<std::uint32_t>(shape >> 32));
  if (lanes.rank() != 0) return 0;
  return put_header(answer, datagram, Code::ok, get_extras_bytes, get_extras_bytes + bytes,
                    load_word(entry.cas));
}

// Returns the bytes of the answer.
template <class Lanes>
K2K_HD inline std::size_t answer_get(const Lanes& lanes, Talk& talk, const Table& table,
                                     const Request& request, const unsigned char* datagram,
                                     unsigned char* answer) {
  const std::uint64_t hash = hash_of(request.key, request.key_bytes);
  const std::uint32_t bucket = bucket_of(table, hash);
  const std::size_t first = std::size_t{bucket} * table.elements;
  const bool leads = lanes.rank() == 0;
  for (int read = 0; read < reads_max; ++read) {
    if (leads) {
      talk.version = load_word(table.versions[bucket]);
      k2k::AtomicRef(talk.found).store(none_found);
    }
    lanes.barrier();  // 1
    const std::uint64_t version = talk.version;
    const bool stable = version % 2 == 0;
    if (stable) {
      for (std::uint32_t place = lanes.rank(); place < table.elements; place += lanes.size()) {
        if (load_word(table.tags[first + place]) == tag_of(hash) &&
            has_key(table.entries[first + place], request.key, request.key_bytes)) {
          k2k::AtomicRef(talk.found).store(place);
        }
      }
    }
    lanes.barrier();  // 2
    const std::uint32_t found = k2k::AtomicRef(talk.found).load();
    if (stable && found != none_found) {
      const std::size_t bytes = put_entry(lanes, table.entries[first + found], datagram, answer);
      if (leads) talk.bytes = bytes;
    } else if (leads) {
      talk.bytes = put_error(answer, datagram, Code::not_found);
    }
    lanes.barrier();  // 3
    if (leads) talk.again = !stable || load_word(table.versions[bucket]) != version ? 1 : 0;
    lanes.barrier();  // 4
    if (talk.again == 0) return talk.bytes;
    lanes.yield();
  }
  if (leads) talk.bytes = put_error(answer, datagram, Code::busy);
  lanes.barrier();
  return talk.bytes;
}

}  // namespace k2k::memcached
