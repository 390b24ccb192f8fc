#pragma once
// PTX that the emulator does not take, as an exception: thrown where the text is read or decoded,
// caught by the function that loads a module, never seen by callers of the library.

#include <cstdint>
#include <stdexcept>
#include <string>

namespace k2k::emulator::ptx {

// What the driver answers: cuModuleLoadData has a code for each.
enum class Reason : std::uint8_t { invalid, newer_version, other_target, unsupported };

class Refusal : public std::runtime_error {
 public:
  Refusal(Reason why, std::uint32_t at_line, const std::string& sentence)
      : std::runtime_error(sentence), reason(why), line(at_line) {}

  const Reason reason;
  const std::uint32_t line;  // Of the PTX text; 0: of no line.
};

}  // namespace k2k::emulator::ptx
