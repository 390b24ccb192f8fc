// The layout of a fat binary, as it stands in nvcc 13's objects: a header of 16 bytes, then
// entries, each a header (kind, sizes, architecture, flags) and its content. Compressed contents
// are read by libzstd.so.1 or liblz4.so.1, which every Debian has; they are loaded when needed.

#include "emulator/cuda/driver/image.hpp"

#include <dlfcn.h>

#include <cctype>
#include <cstring>
#include <vector>

#include "emulator/cuda/ptx/parser.hpp"

namespace k2k::emulator::driver {

namespace {

constexpr std::uint32_t wrapper_magic = 0x466243b1;
constexpr std::uint32_t fat_magic = 0xba55ed50;
constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint64_t flag_lz4 = 0x2000;
constexpr std::uint64_t flag_zstd = 0x8000;
constexpr std::uint64_t text_bytes_max = std::uint64_t{1} << 30;

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* data;
  const void* more;
};
struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t content_bytes;
};
struct EntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t content_bytes;
  std::uint32_t compressed_bytes;
  std::uint32_t options_offset;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t architecture;
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t unused;
  std::uint64_t plain_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

bool unzstd(const char* from, std::size_t bytes, std::string& to, std::string& why) {
  using Decompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
  static void* const library = ::dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  static const auto decompress = reinterpret_cast<Decompress>(
      library == nullptr ? nullptr : ::dlsym(library, "ZSTD_decompress"));
  if (decompress == nullptr) {
    why = "the image is compressed, and libzstd.so.1 cannot be loaded: install libzstd1";
    return false;
  }
  if (decompress(to.data(), to.size(), from, bytes) == to.size()) return true;
  why = "the compressed PTX of the image is damaged";
  return false;
}

bool unlz4(const char* from, std::size_t bytes, std::string& to, std::string& why) {
  using Decompress = int (*)(const char*, char*, int, int);
  static void* const library = ::dlopen("liblz4.so.1", RTLD_NOW | RTLD_LOCAL);
  static const auto decompress = reinterpret_cast<Decompress>(
      library == nullptr ? nullptr : ::dlsym(library, "LZ4_decompress_safe"));
  if (decompress == nullptr) {
    why = "the image is compressed, and liblz4.so.1 cannot be loaded: install liblz4-1";
    return false;
  }
  const auto size = static_cast<int>(to.size());
  if (decompress(from, to.data(), static_cast<int>(bytes), size) == size) return true;
  why = "the compressed PTX of the image is damaged";
  return false;
}

bool content_of(const EntryHeader& entry, const char* content, std::string& text,
                std::string& why) {
  if ((entry.flags & (flag_zstd | flag_lz4)) == 0) {
    text.assign(content, entry.content_bytes);
    return true;
  }
  if (entry.plain_bytes > text_bytes_max || entry.compressed_bytes > entry.content_bytes) {
    why = "an entry of the fat binary has sizes that cannot be";
    return false;
  }
  text.assign(entry.plain_bytes, '\0');
  return (entry.flags & flag_zstd) != 0 ? unzstd(content, entry.compressed_bytes, text, why)
                                        : unlz4(content, entry.compressed_bytes, text, why);
}

// The PTX of the highest architecture that the device still has.
CUresult from_fat_binary(const char* image, std::string& text, std::string& why) {
  FatHeader header;
  std::memcpy(&header, image, sizeof header);
  const char* at = image + header.header_bytes;
  const char* const end = at + header.content_bytes;
  EntryHeader best{};
  const char* content = nullptr;
  std::uint32_t newer = 0;
  while (static_cast<std::size_t>(end - at) >= sizeof(EntryHeader)) {
    EntryHeader entry;
    std::memcpy(&entry, at, sizeof entry);
    const auto left = static_cast<std::uint64_t>(end - at);
    if (entry.header_bytes < sizeof entry || entry.header_bytes > left ||
        entry.content_bytes > left - entry.header_bytes) {
      why = "an entry of the fat binary is longer than the binary";
      return invalid_image;
    }
    if (entry.kind == kind_ptx && entry.architecture > ptx::target_max) newer = entry.architecture;
    if (entry.kind == kind_ptx && entry.architecture <= ptx::target_max &&
        entry.architecture >= best.architecture) {
      best = entry;
      content = at + entry.header_bytes;
    }
    at += entry.header_bytes + entry.content_bytes;
  }
  if (content == nullptr) {
    why = newer != 0 ? "the image has PTX for sm_" + std::to_string(newer) + " alone"
                     : "the image has machine code alone; compile it with PTX, "
                       "for example -gencode arch=compute_90,code=compute_90";
    return no_binary_for_gpu;
  }
  return content_of(best, content, text, why) ? success : invalid_image;
}

}  // namespace

CUresult ptx_of(const void* image, std::string& text, std::string& why) {
  if (image == nullptr) return invalid_value;
  std::uint32_t magic = 0;
  const auto* bytes = static_cast<const char*>(image);
  // A text of fewer than four characters ends before these.
  if (bytes[0] != '\0' && bytes[1] != '\0' && bytes[2] != '\0') std::memcpy(&magic, bytes, 4);
  if (magic == wrapper_magic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, bytes, sizeof wrapper);
    return ptx_of(wrapper.data, text, why);
  }
  if (magic == fat_magic) return from_fat_binary(bytes, text, why);
  if (magic == 0x464c457f) {  // "\x7fELF"
    why = "the image is machine code (a cubin); only PTX can be executed here";
    return no_binary_for_gpu;
  }
  const char* at = bytes;
  while (std::isspace(static_cast<unsigned char>(*at)) != 0) ++at;
  if (*at != '.' && *at != '/') {
    why = "the image is neither PTX nor a fat binary";
    return invalid_image;
  }
  text = bytes;
  return success;
}

}  // namespace k2k::emulator::driver
