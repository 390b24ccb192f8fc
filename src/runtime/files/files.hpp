#pragma once
// File data for device code: the router behind pread, with the profiles that k2k calibrate
// measured.
//
// Threading: values; create_reader() from anywhere.

#include <k2k/config.hpp>
#include <memory>

#include "base/result.hpp"

namespace k2k::router {
class FileReader;
}

namespace k2k::runtime {

// nullptr if `files.router` is off.
Result<std::shared_ptr<router::FileReader>> create_reader(const FilesConfig& config);

}  // namespace k2k::runtime
