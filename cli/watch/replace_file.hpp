#pragma once
// Writes a file that is whole or not there.
//
// Threading: from anywhere; concurrent writers of one path each write a whole file.

#include <string>

#include "base/result.hpp"

namespace k2k::watch {

// Writes the text to a new file, which then takes the name: no reader sees half of it, also after a
// crash. A path that exists and is no regular file (a terminal, /dev/full) is written in place.
// Errors: of open(2), write(2), fsync(2) and rename(2), with the path; then the old file is
// unchanged and nothing is left behind.
Status replace_file(const std::string& path, const std::string& text);

// The same, if nothing has the name yet. Errors: EEXIST; as replace_file().
Status create_file(const std::string& path, const std::string& text);

}  // namespace k2k::watch
