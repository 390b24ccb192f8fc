#include "apps/memcached/store.hpp"

namespace k2k::memcached {

namespace {

// Writes an element while its bucket's version is odd.
void write_entry(Entry& entry, const Request& request, std::uint64_t cas) {
  const std::uint64_t flags = word32(request.extras);
  for (std::size_t place = 0; place * 8 < request.key_bytes; ++place) {
    store_word(entry.key[place], word_of_text(request.key, request.key_bytes, place));
  }
  for (std::size_t place = 0; place * 8 < request.value_bytes; ++place) {
    store_word(entry.value[place], word_of_text(request.value, request.value_bytes, place));
  }
  store_word(entry.cas, cas);
  store_word(entry.shape, request.key_bytes | request.value_bytes << 16 | flags << 32);
}

// The code of a SET that is wrong in itself, or ok.
Code check_set(const Request& request) {
  if (request.extras_bytes != set_extras_bytes || request.key_bytes == 0 ||
      request.key_bytes > key_bytes_max) {
    return Code::invalid;
  }
  if (word32(request.extras + 4) != 0) return Code::invalid;  // Elements do not expire here.
  return request.value_bytes > value_bytes_max ? Code::too_large : Code::ok;
}

}  // namespace

Store::Store(const Table& table)
    : table_(table), writers_(std::make_unique<std::mutex[]>(table.buckets)) {}

Store::Sizes Store::sizes_of(std::uint32_t buckets, std::uint32_t elements) {
  const std::size_t all = std::size_t{buckets} * elements;
  return {buckets * sizeof(std::uint64_t), all * sizeof(std::uint32_t), all * sizeof(Entry)};
}

std::size_t Store::answer(const Request& request, const unsigned char* datagram,
                          unsigned char* answer) {
  if (request.kind == Kind::get) {
    Talk talk{};
    return answer_get(HostLane(), talk, table_, request, datagram, answer);
  }
  if (request.opcode == opcode_get) return put_error(answer, datagram, Code::invalid);
  if (request.opcode != opcode_set) return put_error(answer, datagram, Code::unknown_command);
  const Stored stored = set(request);
  if (stored.code != Code::ok) return put_error(answer, datagram, stored.code);
  return put_header(answer, datagram, Code::ok, 0, 0, stored.cas);
}

Store::Stored Store::set(const Request& request) {
  if (const Code code = check_set(request); code != Code::ok) return {code};
  const std::uint64_t hash = hash_of(request.key, request.key_bytes);
  const std::uint32_t tag = tag_of(hash);
  const std::uint32_t bucket = bucket_of(table_, hash);
  const std::size_t first = std::size_t{bucket} * table_.elements;
  const std::lock_guard lock(writers_[bucket]);
  // Elements are never removed, so the free ones are the last.
  std::uint32_t place = 0;
  bool exists = false;
  for (; place < table_.elements && load_word(table_.tags[first + place]) != 0; ++place) {
    exists = load_word(table_.tags[first + place]) == tag &&
             has_key(table_.entries[first + place], request.key, request.key_bytes);
    if (exists) break;
  }
  Entry& entry = table_.entries[first + place];  // Not touched if the bucket is full.
  if (request.cas != 0 && !exists) return {Code::not_found};
  if (request.cas != 0 && load_word(entry.cas) != request.cas) return {Code::exists};
  if (place == table_.elements) return {Code::no_memory};
  const std::uint64_t cas = __atomic_add_fetch(&last_cas_, 1, __ATOMIC_RELAXED);
  const std::uint64_t version = load_word(table_.versions[bucket]);
  store_word(table_.versions[bucket], version + 1);
  write_entry(entry, request, cas);
  store_word(table_.tags[first + place], tag);
  store_word(table_.versions[bucket], version + 2);
  return {Code::ok, cas};
}

}  // namespace k2k::memcached
