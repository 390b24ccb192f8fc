#pragma once
// Links PTX modules: one text with the definitions of all of them.
//
// Names that a module keeps to itself (without .visible, .weak, .extern, .common, and no kernel)
// get the module's number behind them. Of equal .weak definitions the first stays. A declaration of
// one module (.extern) is followed by the definition of another, which the parser lets take its
// place.
//
// Threading: from any thread.

#include <string>
#include <vector>

namespace k2k::emulator::ptx {

// At least one text. Throws Refusal, with the line in the text that is to blame.
std::string linked(const std::vector<std::string>& texts);

}  // namespace k2k::emulator::ptx
