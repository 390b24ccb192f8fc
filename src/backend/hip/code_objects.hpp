#pragma once
// The architectures for which a program has code, for messages.
//
// Threading: functions of their arguments.

#include <string>

namespace k2k::backend::hip {

// "gfx90a, gfx942" of an image as clang bundles code objects (HipKernel::image), "one architecture"
// of a single code object, and "architectures that this release cannot read" of another image.
std::string architectures_of(const void* image);

}  // namespace k2k::backend::hip
