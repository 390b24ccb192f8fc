#pragma once
// Files of a B+tree and of keys to search in it: one page of header, the nodes (node.hpp), a page
// each, then 8 bytes a key to search, little-endian.
//
//   byte 0      "K2KBPT\n", a zero
//   8, 12       version (1), bytes of a node (4096)
//   16, 24, 32  keys in the tree, nodes, keys to search
//   40, 44      root, levels
//   48, 56      keys that are found, a sum over the bits of all keys to search and their values
//   64          seed of the generator
//   72          1: the keys to search ascend; 0: in a random order; then 4 zero bytes
//   80          check of the bytes before it; zeros follow up to byte 4096
//
// Opening a file judges its header and its size. A node is judged by the searches that visit it,
// because a judgement of all would bring every page into memory.
//
// Threading: one thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/bpt/node.hpp"
#include "apps/common/input_file.hpp"
#include "base/result.hpp"

namespace k2k::bpt {

inline constexpr std::uint32_t header_bytes = 4096;
inline constexpr std::uint32_t format_version = 1;
inline constexpr std::uint64_t keys_most = 2'000'000'000;
inline constexpr std::uint64_t lookups_most = 2'000'000'000;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t node_bytes;
  std::uint64_t keys;
  std::uint64_t nodes;
  std::uint64_t lookups;
  std::uint32_t root;
  std::uint32_t levels;
  std::uint64_t found;
  std::uint64_t bits;
  std::uint64_t seed;
  std::uint32_t sorted;
  std::uint32_t zero;
  std::uint64_t check;
};
static_assert(sizeof(Header) == 88);

struct TreeFile : apps::InputFile {
  Header header{};
};

// Errors: those of open(2) and read(2); EINVAL (each field above, with the remedy; a file that is
// cut or too long).
Result<TreeFile> open_tree(const std::string& path);

// One line about a node that ended a search.
Error wrong_node(const TreeFile& file, std::uint64_t node, Wrong wrong);

// The first page of a file. Sets the magic and, if it is 0, the check, so that tests can write
// wrong ones.
std::vector<std::byte> page_of(Header header);

struct Recipe {
  std::uint64_t keys = 1'000'000;
  std::uint64_t lookups = 100'000;
  std::uint64_t seed = 1;
};

// Makes the folder with the same tree and keys to search in the files "sorted" and "unsorted".
// Expects numbers in their ranges. Errors: as apps::write_new_folder(). Throws std::bad_alloc.
Status generate(const std::string& folder, const Recipe& recipe);

}  // namespace k2k::bpt
