#pragma once
// Makes the file of a graph (format.hpp).
//
// Threading: one thread of the process at a time: SIGINT, SIGTERM and SIGHUP have a handler
// meanwhile.

#include <string>

#include "apps/graph500/kronecker.hpp"
#include "base/result.hpp"

namespace k2k::graph500 {

// The header is written last, so that a file without its end has none. A signal that ends the
// process meanwhile removes the file. Errors, each with `path` or the value: EINVAL (scale, edge
// factor; a graph without an edge between two vertices), ENOMEM, EEXIST, those of open(2) and
// write(2).
Status generate(const std::string& path, const Recipe& recipe);

}  // namespace k2k::graph500
