#pragma once
// The arguments of a case within one sandbox: six words, and one run of bytes with everything that
// they point to. It can be copied anywhere (a stack, device memory): pointers are offsets until
// place() makes them addresses.
//
// Threading: values.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/verify/call_data.hpp"
#include "cli/verify/case.hpp"
#include "cli/verify/sandbox.hpp"

namespace k2k::cli::verify {

struct Image {
  // The bytes of one argument.
  struct Span {
    std::size_t argument = 0;
    std::size_t from = 0;
    std::size_t bytes = 0;
  };

  std::uint64_t words[words_max] = {};
  std::size_t count = 0;  // Of words.
  std::string bytes;
  std::vector<Link> word_links;
  std::vector<Link> links;
  std::vector<Span> spans;
};

Image image_of(const Case& the_case, const Sandbox& sandbox);

}  // namespace k2k::cli::verify
