#pragma once
// Does a text contain one of many words, and where? Device code: no library, no recursion, no
// allocation.
//
// Every word of at least 4 bytes is entered with the 4-byte grams at its first `step` offsets,
// where step <= shortest word - 3. Then each occurrence covers a gram that starts at a multiple of
// `step`, so only those positions are tested: one multiplication and one bit of a small table each,
// without a branch that depends on the text. A bit that is set leads to the few grams of its
// bucket, which name the words to compare. Words of 1 to 3 bytes go through a second sieve with
// shorter grams. (The idea of Wu and Manber's block shifts, but the loads do not wait for each
// other: about 11 cycles a step by the latencies.)
//
// Positions are independent: work-items may search parts of one text, each at its own samples.
// Tables: word_set.hpp builds them. Threading: pure functions of read-only tables.

#include <cstddef>
#include <cstdint>

#include "apps/grep/bytes.hpp"
#include "base/attributes.hpp"

namespace k2k::grep {

inline constexpr std::uint32_t gram_bytes_max = 4;

// One gram of one word.
struct Gram {
  std::uint32_t value;   // Its bytes, the first one lowest.
  std::uint32_t word;    // Offset of the word in Words::bytes.
  std::uint32_t length;  // Length of the word, in bytes.
  std::uint32_t before;  // Bytes of the word before the gram.
};

struct Sieve {
  const std::uint64_t* bits = nullptr;    // Bit = hash >> bit_shift: does such a gram exist?
  const std::uint32_t* starts = nullptr;  // Bucket = hash >> bucket_shift: its first gram.
  const Gram* grams = nullptr;            // Sorted by bucket.
  std::uint32_t bit_shift = 31;
  std::uint32_t bucket_shift = 31;
  std::uint32_t gram_bytes = 0;  // 1 to gram_bytes_max; 0: no word in this sieve.
  std::uint32_t step = 1;        // Distance of the tested positions.
};

struct Words {
  Sieve sieve;        // Words of 4 bytes and more.
  Sieve short_sieve;  // Words of 1 to 3 bytes.
  const unsigned char* bytes = nullptr;
  std::uint32_t longest = 0;  // Bytes; 0: no word.
  bool every_line = false;    // The set contains the empty word: every line matches.
};

// A part of a text: tests the samples in [first, last), compares within [0, size).
struct Part {
  const unsigned char* text;
  std::size_t size;
  std::size_t first;
  std::size_t last;
};

template <int bytes>
K2K_HD inline std::uint32_t gram_at(const unsigned char* text) {
  if constexpr (bytes == 4) {
    std::uint32_t value;
    __builtin_memcpy(&value, text, 4);  // Little-endian, as every supported device.
    return value;
  } else {
    std::uint32_t value = text[0];
    if constexpr (bytes >= 2) value |= static_cast<std::uint32_t>(text[1]) << 8;
    if constexpr (bytes >= 3) value |= static_cast<std::uint32_t>(text[2]) << 16;
    return value;
  }
}

K2K_HD inline std::uint32_t gram_hash(std::uint32_t gram) { return gram * 0x9e3779b1u; }

// Ends the search at the first occurrence.
struct FirstFound {
  K2K_HD bool operator()(std::size_t, const Gram&) const { return true; }
};

// Compares the text with the words that have this gram. Calls found(begin of the occurrence, gram
// of its word); ends the search if that returns true.
template <class Found>
K2K_HD inline bool verify(const Sieve& sieve, const unsigned char* bytes, const Part& part,
                          std::size_t position, std::uint32_t gram, const Found& found) {
  const std::uint32_t bucket = gram_hash(gram) >> sieve.bucket_shift;
  const Gram* const end = sieve.grams + sieve.starts[bucket + 1];
  for (const Gram* at = sieve.grams + sieve.starts[bucket]; at != end; ++at) {
    if (at->value != gram || at->before > position) continue;
    const std::size_t begin = position - at->before;
    if (at->length > part.size - begin) continue;
    if (same_bytes(part.text + begin, bytes + at->word, at->length) && found(begin, *at)) {
      return true;
    }
  }
  return false;
}

template <int bytes, class Found>
K2K_HD inline bool sift(const Sieve& sieve, const unsigned char* word_bytes, const Part& part,
                        const Found& found) {
  if (part.size < bytes) return false;
  const std::size_t positions = part.size - bytes + 1;
  const std::size_t last = part.last < positions ? part.last : positions;
  const std::size_t step = sieve.step;
  const std::uint64_t* const bits = sieve.bits;
  const std::uint32_t shift = sieve.bit_shift;
  const unsigned char* const text = part.text;
  const auto maybe = [=](std::size_t position) {
    const std::uint32_t bit = gram_hash(gram_at<bytes>(text + position)) >> shift;
    return (bits[bit / 64] >> (bit % 64)) & 1;
  };
  std::size_t position = (part.first + step - 1) / step * step;
  const std::size_t stride = 4 * step;
  for (; position + 3 * step < last; position += stride) {
    const std::uint64_t any = maybe(position) | maybe(position + step) |
                              maybe(position + 2 * step) | maybe(position + 3 * step);
    if (__builtin_expect(any == 0, 1)) continue;
    for (std::size_t at = position; at != position + stride; at += step) {
      if (maybe(at) == 0) continue;
      if (verify(sieve, word_bytes, part, at, gram_at<bytes>(text + at), found)) return true;
    }
  }
  for (; position < last; position += step) {
    if (maybe(position) == 0) continue;
    if (verify(sieve, word_bytes, part, position, gram_at<bytes>(text + position), found)) {
      return true;
    }
  }
  return false;
}

// Calls found(begin, gram) for each occurrence that has its sample in [first, last), until it
// returns true; returns that. Of the text's parts exactly one has an occurrence's sample: the first
// multiple of the sieve's step within the word. The words do not contain the empty word.
template <class Found>
K2K_HD inline bool each_occurrence(const Words& words, const Part& part, const Found& found) {
  if (words.sieve.gram_bytes == 4 && sift<4>(words.sieve, words.bytes, part, found)) return true;
  switch (words.short_sieve.gram_bytes) {
    case 1:
      return sift<1>(words.short_sieve, words.bytes, part, found);
    case 2:
      return sift<2>(words.short_sieve, words.bytes, part, found);
    case 3:
      return sift<3>(words.short_sieve, words.bytes, part, found);
    default:
      return false;
  }
}

// True if an occurrence has its sample in [first, last). A word is in the text if and only if this
// is true for at least one of the text's parts.
K2K_SHARED_CODE K2K_HD inline bool contains_word(const Words& words, const Part& part) {
  if (words.every_line && part.size != 0) return true;
  return each_occurrence(words, part, FirstFound{});
}

}  // namespace k2k::grep
