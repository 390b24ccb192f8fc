#pragma once
// A call with its arguments as plain data, which host and device share.
//
// The maker of the call has the bytes at a place of its own: a stack, or a kind of memory. There
// link() makes offsets addresses; unlink() makes addresses offsets again, because they differ from
// place to place.
//
// Threading: values.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/attributes.hpp"

namespace k2k::cli::verify {

inline constexpr std::size_t words_max = 6;
// So that a kernel's stack holds it.
inline constexpr std::size_t image_bytes_max = std::size_t{16} << 10;
inline constexpr std::size_t links_max = 64;

// A pointer: the word `at`, or the eight bytes at the offset `at`, points to the offset `target`.
struct Link {
  std::size_t at = 0;
  std::size_t target = 0;
};

// The arguments that the call gets.
struct Words {
  std::uint64_t word[words_max];
};

struct CallData {
  int row = -1;  // Of calls::rows, whose typed wrapper makes the call; -1: by its number.
  std::uint16_t number = 0;
  std::uint64_t words[words_max] = {};
  Link word_links[words_max];
  std::size_t word_link_count = 0;
  Link links[links_max];
  std::size_t link_count = 0;
  std::int64_t answer = 0;  // The result, or a negative errno.
  std::size_t byte_count = 0;
  alignas(16) char bytes[image_bytes_max];
};

// Returns the arguments of a call whose bytes are at `bytes`, and sets the pointers among them.
K2K_HD inline Words link(const CallData& call, char* bytes) {
  Words words;
  for (std::size_t index = 0; index < words_max; ++index) words.word[index] = call.words[index];
  for (std::size_t index = 0; index < call.word_link_count; ++index) {
    const Link& pointer = call.word_links[index];
    words.word[pointer.at] = reinterpret_cast<std::uint64_t>(bytes + pointer.target);
  }
  for (std::size_t index = 0; index < call.link_count; ++index) {
    const auto address = reinterpret_cast<std::uint64_t>(bytes + call.links[index].target);
    std::memcpy(bytes + call.links[index].at, &address, sizeof(address));
  }
  return words;
}

// A pointer that the call changed stays what it is.
K2K_HD inline void unlink(const CallData& call, char* bytes) {
  for (std::size_t index = 0; index < call.link_count; ++index) {
    const Link& pointer = call.links[index];
    std::uint64_t address = 0;
    std::memcpy(&address, bytes + pointer.at, sizeof(address));
    if (address == reinterpret_cast<std::uint64_t>(bytes + pointer.target)) address = 0;
    std::memcpy(bytes + pointer.at, &address, sizeof(address));
  }
}

}  // namespace k2k::cli::verify
