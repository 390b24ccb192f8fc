#pragma once
// The fields of Linux' structures that differ from one file, or one moment, to the next.

#include <sys/stat.h>
#include <sys/vfs.h>

#include <cstddef>
#include <vector>

#include "cli/verify/case.hpp"

namespace k2k::cli::verify {

// `argument` points to the structure.
inline std::vector<Ignored> of_stat(std::size_t argument) {
  using Status = struct stat;
  return {{argument, offsetof(Status, st_dev), sizeof(Status::st_dev)},
          {argument, offsetof(Status, st_ino), sizeof(Status::st_ino)},
          {argument, offsetof(Status, st_blocks), sizeof(Status::st_blocks)},
          {argument, offsetof(Status, st_atim), 3 * sizeof(Status::st_atim)}};
}
inline std::vector<Ignored> of_statx(std::size_t argument) {
  using Status = struct statx;
  return {{argument, offsetof(Status, stx_ino), sizeof(Status::stx_ino)},
          {argument, offsetof(Status, stx_blocks), sizeof(Status::stx_blocks)},
          {argument, offsetof(Status, stx_atime), 4 * sizeof(Status::stx_atime)}};
}
inline std::vector<Ignored> of_statfs(std::size_t argument) {
  using Status = struct statfs;
  return {{argument, offsetof(Status, f_bfree), 2 * sizeof(Status::f_bfree)},
          {argument, offsetof(Status, f_ffree), sizeof(Status::f_ffree)}};
}
inline std::vector<Ignored> all_of(std::size_t argument, std::size_t bytes) {
  return {{argument, 0, bytes}};
}

}  // namespace k2k::cli::verify
