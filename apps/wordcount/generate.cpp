#include "apps/wordcount/generate.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

namespace k2k::wordcount {

namespace {

using Random = std::mt19937_64;  // Its numbers are the standard's: the same everywhere.

Status put(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return Error{errno, fmt::format("{}: {}", path, std::strerror(errno))};
  return {};
}

Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return {};
  return Error{errno, fmt::format("{}: {}", path, std::strerror(errno))};
}

// Capitals with the string's number in front and behind: no string occurs across the border of two
// others, and the letters around them are small.
std::vector<std::string> make_strings(Random& random, std::uint32_t count) {
  std::vector<std::string> strings;
  for (std::uint32_t number = 0; number < count; ++number) {
    std::string string = fmt::format("Q{}", number);
    for (std::uint64_t left = 4 + random() % 12; left != 0; --left) {
      string += static_cast<char>('A' + random() % 16);
    }
    strings.push_back(string + "Z");
  }
  return strings;
}

}  // namespace

Status generate(const std::string& folder, const Inputs& inputs) {
  Random random(inputs.seed);
  for (const char* const inner : {"", "/files"}) {
    if (Status made = make_folder(folder + inner); !made) return made;
  }
  const std::vector<std::string> strings = make_strings(random, inputs.strings);
  std::vector<std::uint64_t> counts(strings.size());
  for (std::uint32_t file = 0; file < inputs.files; ++file) {
    const std::uint64_t bytes = inputs.file_bytes / 2 + random() % (inputs.file_bytes + 1ull);
    std::string text;
    text.reserve(bytes + 32);
    while (text.size() < bytes) {
      const std::uint64_t draw = random();
      if (draw % 31 == 0) {
        const std::size_t chosen = (draw >> 32) % strings.size();
        text += strings[chosen];
        ++counts[chosen];
      } else {
        for (std::uint64_t left = draw >> 8; left > 1 << 5; left >>= 5) {
          text += static_cast<char>('a' + left % 26);
        }
        text += (draw & 15) == 0 ? '\n' : ' ';
      }
    }
    if (Status written = put(fmt::format("{}/files/{}", folder, file), text); !written) {
      return written;
    }
  }
  std::string list;
  std::string answers;
  for (std::size_t place = 0; place < strings.size(); ++place) {
    list += strings[place] + "\n";
    answers += fmt::format("{} {}\n", counts[place], strings[place]);
  }
  if (Status written = put(folder + "/strings", list); !written) return written;
  return put(folder + "/counts", answers);
}

}  // namespace k2k::wordcount
