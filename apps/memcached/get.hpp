#pragma once
// GET: looks a key up and writes the answer, by all lanes of a group together, or by one thread of
// the host. The lanes share the search of the bucket and the copy of the value.
//
//   barrier 1   all know the version at the beginning
//   barrier 2   all have searched: `found` is final
//   barrier 2a  the element lies in the group's memory, if lanes.copy() is not null
//   barrier 2b  all have compared the key there: `found` is none_found if it differs
//   barrier 3   the answer is complete
//   barrier 4   all know whether it holds
//
// Lanes are serve.hpp's DeviceLanes or HostLane: rank(), size(), barrier(), yield(), copy().
//
// On a GPU each load of the table crosses the bus. There the lanes load a whole element at once,
// one word each, into copy(), and compare and answer from it.
//
// Tags are loaded relaxed. An element's tag is set once, at its end, and elements are never
// removed: so a group that finds no tag answers as of its first look at the version, and of an
// element that it finds it loads the words with acquire.
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
  static constexpr Entry* copy() { return nullptr; }
  static void barrier() {}
  static void yield() {}
};

// The lane's part of the search for a tag. A group may find several elements with the tag: with
// `by_tag` any of them is taken, otherwise the one with the key.
template <class Lanes>
K2K_HD inline void find_place(const Lanes& lanes, Talk& talk, const Table& table, std::size_t first,
                              std::uint32_t tag, const Request& request, bool by_tag) {
  constexpr std::uint32_t loads = 4;  // On their way at once.
  for (std::uint32_t begin = lanes.rank(); begin < table.elements; begin += loads * lanes.size()) {
    std::uint32_t tags[loads] = {};
    for (std::uint32_t load = 0; load < loads; ++load) {
      const std::uint32_t place = begin + load * lanes.size();
      if (place < table.elements) {
        tags[load] = k2k::AtomicRef(table.tags[first + place])
                         .load(k2k::memory_order_relaxed, k2k::memory_scope_system);
      }
    }
    for (std::uint32_t load = 0; load < loads; ++load) {
      const std::uint32_t place = begin + load * lanes.size();
      if (tags[load] != tag) continue;  // Tags are not 0.
      if (by_tag || has_key(table.entries[first + place], request.key, request.key_bytes)) {
        k2k::AtomicRef(talk.found).store(place);
      }
    }
  }
}

// The lane's words of an element.
template <class Lanes>
K2K_HD inline void load_entry(const Lanes& lanes, const Entry& entry, Entry& copy) {
  constexpr std::size_t words = sizeof(Entry) / 8;
  const auto* const from = reinterpret_cast<const std::uint64_t*>(&entry);
  auto* const to = reinterpret_cast<std::uint64_t*>(&copy);
  for (std::size_t place = lanes.rank(); place < words; place += lanes.size()) {
    to[place] = load_word(from[place]);
  }
}

// The lane's part of the comparison of the group's copy with the key.
template <class Lanes>
K2K_HD inline void compare_key(const Lanes& lanes, Talk& talk, const Entry& copy,
                               const Request& request) {
  bool same = (copy.shape & 0xffff) == request.key_bytes;
  for (std::size_t place = lanes.rank(); place * 8 < request.key_bytes; place += lanes.size()) {
    same = same && copy.key[place] == word_of_text(request.key, request.key_bytes, place);
  }
  if (!same) k2k::AtomicRef(talk.found).store(none_found);
}

// The value's words into the answer, and by lane 0 the rest of it; returns its bytes. `held`: the
// element is the group's own copy, where nobody writes.
template <class Lanes>
K2K_HD inline std::size_t put_entry(const Lanes& lanes, const Entry& entry, bool held,
                                    const unsigned char* datagram, unsigned char* answer) {
  const auto word_of = [held](const std::uint64_t& word) { return held ? word : load_word(word); };
  const std::uint64_t shape = word_of(entry.shape);
  std::size_t bytes = (shape >> 16) & 0xffff;
  if (bytes > value_bytes_max) bytes = value_bytes_max;  // Half written: it will be read again.
  unsigned char* const body = answer + frame_bytes + header_bytes;
  for (std::size_t place = lanes.rank(); place * 8 < bytes; place += lanes.size()) {
    const std::uint64_t word = word_of(entry.value[place]);
    unsigned char* const to = body + get_extras_bytes + place * 8;
    __builtin_memcpy(to, &word, 8);  // The answer has room for whole words.
  }
  if (lanes.rank() == 0) put32(body, static_cast<std::uint32_t>(shape >> 32));
  if (lanes.rank() != 0) return 0;
  return put_header(answer, datagram, Code::ok, get_extras_bytes, get_extras_bytes + bytes,
                    word_of(entry.cas));
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
  bool copies = lanes.copy() != nullptr;
  for (int read = 0; read < reads_max; ++read) {
    if (leads) {
      talk.version = load_word(table.versions[bucket]);
      k2k::AtomicRef(talk.found).store(none_found);
    }
    lanes.barrier();  // 1
    const std::uint64_t version = talk.version;
    const bool stable = version % 2 == 0;
    if (stable) find_place(lanes, talk, table, first, tag_of(hash), request, copies);
    lanes.barrier();  // 2
    const std::uint32_t found = k2k::AtomicRef(talk.found).load();
    const Entry* entry = stable && found != none_found ? &table.entries[first + found] : nullptr;
    if (entry != nullptr && copies) {
      load_entry(lanes, *entry, *lanes.copy());
      lanes.barrier();  // 2a
      entry = lanes.copy();
      compare_key(lanes, talk, *entry, request);
      lanes.barrier();  // 2b
      if (k2k::AtomicRef(talk.found).load() == none_found) {
        copies = false;  // Another key has the same tag, or a thread writes: compare in place.
        continue;
      }
    }
    if (entry != nullptr) {
      const std::size_t bytes = put_entry(lanes, *entry, copies, datagram, answer);
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
