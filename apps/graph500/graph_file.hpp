#pragma once
// An open file of a graph whose header was checked (format.hpp).
//
// Threading: const members may be called from any thread.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "apps/graph500/format.hpp"
#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace k2k::graph500 {

class GraphFile {
 public:
  // Reads the header alone, so that a search decides when the rest comes into memory. Errors, each
  // with the path and the remedy: those of open(2) and read(2); EINVAL (no regular file, no graph,
  // another version or byte order, sizes that do not agree, a file shorter or longer than its
  // header says).
  static Result<GraphFile> open(const std::string& path);

  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] Sections sections() const { return Sections(header_); }
  [[nodiscard]] int descriptor() const { return file_.number(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Reads all `bytes` at `at`. Errors: EIO (the file has become shorter), as pread(2).
  Status read(std::uint64_t at, void* to, std::uint64_t bytes) const;
  // Is the file the one that was opened? Errors: EIO (its size or its time of change differs).
  [[nodiscard]] Status unchanged() const;
  // An error of this file: the path, `what` and the remedy.
  [[nodiscard]] Error wrong(int code, const std::string& what) const;

 private:
  GraphFile(Descriptor file, std::string path, const struct stat& opened, const Header& header)
      : file_(std::move(file)), path_(std::move(path)), opened_(opened), header_(header) {}

  Descriptor file_;
  std::string path_;
  struct stat opened_{};
  Header header_{};
};

}  // namespace k2k::graph500
