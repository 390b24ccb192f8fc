#pragma once
// Makes inputs for wordcount: files of letters with strings at random places, the same for the same
// seed. The counts are known while the files are made.
//
// Threading: one thread.

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace k2k::wordcount {

struct Inputs {
  std::uint32_t files = 1000;
  std::uint32_t file_bytes = 16384;  // The mean; sizes are between a half and one and a half of it.
  std::uint32_t strings = 64;
  std::uint64_t seed = 1;
};

// Writes FOLDER/strings, one string a line; FOLDER/counts, the number of occurrences of each, in
// the form that wordcount prints; and FOLDER/files/NUMBER. Errors: EEXIST (the folder exists),
// those of mkdir(2) and write(2).
Status generate(const std::string& folder, const Inputs& inputs);

}  // namespace k2k::wordcount
