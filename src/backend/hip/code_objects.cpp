#include "backend/hip/code_objects.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace k2k::backend::hip {

namespace {

// The format is LLVM's (ClangOffloadBundler): the magic, the number of entries, and of each entry
// offset, size, length of its target and the target, "hipv4-amdgcn-amd-amdhsa--gfx90a".
constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view elf_magic = "\177ELF";
constexpr std::uint64_t entries_max = 64;
constexpr std::uint64_t target_bytes_max = 256;
constexpr const char* unreadable = "architectures that this release cannot read";

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

}  // namespace

std::string architectures_of(const void* image) {
  const auto* at = static_cast<const std::byte*>(image);
  if (std::memcmp(at, elf_magic.data(), elf_magic.size()) == 0) return "one architecture";
  // An image of another kind may be shorter, but strncmp() stops at the first difference.
  if (std::strncmp(reinterpret_cast<const char*>(at), bundle_magic.data(), bundle_magic.size()) !=
      0) {
    return unreadable;
  }
  at += bundle_magic.size();
  const std::uint64_t entries = word_at(at);
  at += sizeof(std::uint64_t);
  if (entries > entries_max) return unreadable;
  std::string all;
  for (std::uint64_t entry = 0; entry < entries; ++entry) {
    const std::uint64_t length = word_at(at + 2 * sizeof(std::uint64_t));
    if (length > target_bytes_max) return unreadable;
    const std::string_view target(reinterpret_cast<const char*>(at + 3 * sizeof(std::uint64_t)),
                                  length);
    at += 3 * sizeof(std::uint64_t) + length;
    const std::size_t dashes = target.rfind("--");
    if (!target.starts_with("hip") || dashes == std::string_view::npos) continue;
    if (!all.empty()) all += ", ";
    all += target.substr(dashes + 2);
  }
  return all.empty() ? "no architecture" : all;
}

}  // namespace k2k::backend::hip
