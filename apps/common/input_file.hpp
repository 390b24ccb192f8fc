#pragma once
// Input files of the programs of chapter 4: opened once, judged by their headers, mapped or read by
// input_memory.hpp, and made by the programs' generators.
//
// Threading: const functions from any thread.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace k2k::apps {

struct InputFile {
  std::string path;
  Descriptor descriptor;
  std::uint64_t size = 0;    // Of the whole file, when it was opened.
  timespec modified{};       // Likewise.
  std::uint64_t offset = 0;  // Of the part that kernels use: whole pages.
  std::uint64_t bytes = 0;   // Of that part.
};

// Ends the messages about a file that is not as its generator made it.
inline constexpr const char* make_anew = "make the file anew with --generate";

// "path: what"
Error wrong_input(const InputFile& file, const std::string& what, int code = EINVAL);
// "path: what; make the file anew with --generate"
Error damaged_input(const InputFile& file, const std::string& what, int code = EINVAL);

// The whole file is the part that kernels use. Errors: those of open(2); EINVAL (no regular file).
Result<InputFile> open_input(const std::string& path);

// Reads the file's first bytes. `head_bytes`: of the header with the zeros behind it. Errors: as
// read_at(); EINVAL (a file that is shorter).
Status read_header(const InputFile& file, std::span<std::byte> header, std::uint64_t head_bytes);

// EINVAL if the file does not have this size. `content`: what takes it, as "256 atoms".
Status judge_size(const InputFile& file, std::uint64_t right, const std::string& content);

// Errors: as pread(2); EIO (the file became shorter).
Status read_at(const InputFile& file, void* to, std::size_t bytes, std::uint64_t offset);

// EIO if the file has lost bytes since it was opened: the reason of a page that does not come, and
// of zeros within the last page.
Status still_whole(const InputFile& file);
// The same; EIO also if it grew or was written to.
Status unchanged(const InputFile& file);

// Opens a file that is not there yet. Errors: those of open(2), with the remedy.
Result<Descriptor> create_new(const std::string& path);
// Writes all bytes. Errors: those of write(2), with the bytes that had no room.
Status write_at(const Descriptor& file, const std::string& path, std::span<const std::byte> from,
                std::uint64_t offset);

// A new file of a generator. The body begins behind the header, the tail behind the body: files may
// share a body.
struct NewFile {
  std::string name;
  std::span<const std::byte> header;
  std::span<const std::byte> body;
  std::span<const std::byte> tail = {};
};

// Writes a file that is not there yet: whole, or not at all. Ctrl-C takes effect before or after
// it. Errors: as create_new() and write_at().
Status write_new_file(const NewFile& file);

// Makes the folder with these files: all or nothing. Errors: also those of mkdir(2).
Status write_new_folder(const std::string& folder, std::span<const NewFile> files);

}  // namespace k2k::apps
