#pragma once
// Counts the occurrences of many strings in a text, overlapping ones included. Device code.
//
// A text arrives in chunks. The last bytes of a chunk are carried to the next one, so that it has
// every occurrence that ends in it as a whole; occurrences that end within the carried bytes were
// counted before.
//
// Threading: pure, but for `Count`, which the caller gives.

#include <cstddef>
#include <cstdint>

#include "apps/grep/matcher.hpp"

namespace k2k::wordcount {

// Calls count(offset of the string in Words::bytes) for each occurrence with its sample in the part
// that ends after the first `kept` bytes of the text.
template <class Count>
K2K_HD inline void count_strings(const grep::Words& words, const grep::Part& part, std::size_t kept,
                                 const Count& count) {
  grep::each_occurrence(words, part, [&](std::size_t begin, const grep::Gram& gram) {
    if (begin + gram.length > kept) count(gram.word);
    return false;
  });
}

// Bytes to carry from a text of `size` bytes to the next chunk: no string fits in them with a byte
// of the next chunk left out.
K2K_HD inline std::size_t carried(std::size_t size, std::size_t longest_kept) {
  return size < longest_kept ? size : longest_kept;
}

}  // namespace k2k::wordcount
