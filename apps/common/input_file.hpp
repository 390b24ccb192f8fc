#pragma once
// Input files of the programs of chapter 4: opened once, mapped or read by input_memory.hpp, and
// made by the programs' generators.
//
// Threading: one thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace k2k::apps {

struct InputFile {
  std::string path;
  Descriptor descriptor;
  std::uint64_t offset = 0;  // Of the part that kernels use: whole pages.
  std::uint64_t bytes = 0;   // Of that part, up to the file's end.
};

// Ends the messages about a file that is not as its generator made it.
inline constexpr const char* make_anew = "make the file anew with --generate";

// EINVAL: "path: what".
Error wrong_input(const InputFile& file, const std::string& what);

// The whole file. Errors: those of open(2); EINVAL (no regular file).
Result<InputFile> open_input(const std::string& path);

// Errors: as pread(2); EIO (the file became shorter).
Status read_at(const InputFile& file, void* to, std::size_t bytes, std::uint64_t offset);

// EIO if the file has lost bytes since it was opened: the reason of a page that does not come, and
// of zeros within the last page.
Status still_whole(const InputFile& file);

// A new file of a generator. The body begins behind the header.
struct NewFile {
  std::string name;
  std::span<const std::byte> header;
  std::span<const std::byte> body;
};

// Writes a file that is not there yet: whole, or not at all. Ctrl-C takes effect before or after
// it. Errors: those of open(2) and write(2).
Status write_new_file(const NewFile& file);

// Makes the folder with these files: all or nothing. Errors: also those of mkdir(2).
Status write_new_folder(const std::string& folder, std::span<const NewFile> files);

}  // namespace k2k::apps
