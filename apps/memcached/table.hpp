#pragma once
// The hash table that kernels read and threads of the host write: fixed buckets of fixed elements,
// in shared memory, with a seqlock for each bucket.
//
//   versions   a word a bucket: odd while a thread writes in it
//   tags       a word an element: 32 bits of its key's hash, never 0; 0: the element is free
//   entries    the elements: lengths and flags, CAS, key, value, all in words of 64 bits
//
//   writer (one a bucket)   version = odd; every word by store-release; version = even, release
//   reader                  version, acquire; every word by load-acquire; version again: unchanged?
//
// A reader that saw a word of a write has acquired the odd version before it, so its second look at
// the version differs and it reads again. There are no bare fences, and nothing but loads and
// stores towards the host.
//
// Device code and host code. Threading: as above.

#include <cstddef>
#include <cstdint>

#include "apps/memcached/protocol.hpp"
#include "device/atomic.hpp"

namespace k2k::memcached {

inline constexpr std::size_t key_words = (key_bytes_max + 7) / 8;
inline constexpr std::size_t value_words = (value_bytes_max + 7) / 8;

struct Entry {
  std::uint64_t shape;  // Key bytes | value bytes << 16 | flags << 32.
  std::uint64_t cas;
  std::uint64_t key[key_words];  // Zeros behind the key.
  std::uint64_t value[value_words];
};

struct Table {
  std::uint64_t* versions = nullptr;
  std::uint32_t* tags = nullptr;
  Entry* entries = nullptr;
  std::uint32_t buckets = 0;
  std::uint32_t elements = 0;  // In a bucket.
};

template <class Word>
K2K_HD inline Word load_word(const Word& word) {
  return k2k::AtomicRef(const_cast<Word&>(word))
      .load(k2k::memory_order_acquire, k2k::memory_scope_system);
}
template <class Word>
K2K_HD inline void store_word(Word& word, Word value) {
  k2k::AtomicRef(word).store(value, k2k::memory_order_release, k2k::memory_scope_system);
}

// FNV-1a of 64 bits, mixed once so that all its bits depend on all bytes.
K2K_HD inline std::uint64_t hash_of(const unsigned char* key, std::size_t bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t place = 0; place < bytes; ++place) hash = (hash ^ key[place]) * 0x100000001b3u;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return hash ^ hash >> 32;
}
K2K_HD inline std::uint32_t tag_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 32) | 1;
}
K2K_HD inline std::uint32_t bucket_of(const Table& table, std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash) % table.buckets;
}

// Word `place` of a text of `bytes` bytes, zeros behind it.
K2K_HD inline std::uint64_t word_of_text(const unsigned char* text, std::size_t bytes,
                                         std::size_t place) {
  std::uint64_t word = 0;
  const std::size_t begin = place * 8;
  for (std::size_t at = 0; at < 8 && begin + at < bytes; ++at) {
    word |= static_cast<std::uint64_t>(text[begin + at]) << (8 * at);
  }
  return word;
}

K2K_HD inline bool has_key(const Entry& entry, const unsigned char* key, std::size_t bytes) {
  if ((load_word(entry.shape) & 0xffff) != bytes) return false;
  for (std::size_t place = 0; place * 8 < bytes; ++place) {
    if (load_word(entry.key[place]) != word_of_text(key, bytes, place)) return false;
  }
  return true;
}

}  // namespace k2k::memcached
