#pragma once
// A check of words: 64 bits that tell them from zeros, from other words and from another order. For
// files that host and device judge; no protection against forgery.
//
// Threading: a pure function, host and device.

#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::apps {

K2K_HD inline std::uint64_t check_of_words(const std::uint64_t* words, std::uint32_t count) {
  std::uint64_t mixed = 0x4b324b436f4d4421;
  for (std::uint32_t word = 0; word < count; ++word) {
    mixed = (mixed ^ words[word]) * 0xff51afd7ed558ccd;
    mixed ^= mixed >> 32;
  }
  return mixed;
}

}  // namespace k2k::apps
