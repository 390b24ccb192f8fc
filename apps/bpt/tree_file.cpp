#include "apps/bpt/tree_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "apps/bpt/search.hpp"
#include "apps/bpt/tree.hpp"

namespace k2k::bpt {

namespace {

constexpr char magic[8] = {'K', '2', 'K', 'B', 'P', 'T', '\n', 0};

using apps::damaged_input;
using apps::wrong_input;

std::uint64_t check_of(const Header& header) {
  std::uint64_t words[offsetof(Header, check) / 8];
  std::memcpy(words, &header, sizeof(words));
  return apps::check_of_words(words, offsetof(Header, check) / 8);
}

// Of full nodes.
struct Shape {
  std::uint64_t nodes = 0;
  std::uint32_t levels = 0;
};
Shape shape_of(std::uint64_t keys) {
  Shape shape;
  for (std::uint64_t level = keys; shape.levels == 0 || level > 1; ++shape.levels) {
    level = (level + keys_a_node - 1) / keys_a_node;
    shape.nodes += level;
  }
  return shape;
}

Status judge_header(const TreeFile& file) {
  const Header& header = file.header;
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0) {
    return wrong_input(file,
                       "no file of a B+tree, which begins with K2KBPT; make one with "
                       "--generate");
  }
  if (header.version != format_version || header.node_bytes != sizeof(Node)) {
    return damaged_input(
        file, fmt::format("version {} of the format with {} bytes a node, but this program reads "
                          "version {} with {}",
                          header.version, header.node_bytes, format_version, sizeof(Node)));
  }
  if (check_of(header) != header.check) {
    return damaged_input(file, "the header is damaged: its check does not fit");
  }
  if (header.keys == 0 || header.keys > keys_most || header.lookups == 0 ||
      header.lookups > lookups_most) {
    return damaged_input(file, fmt::format("{} keys, {} of them to search; permitted are 1 to {} "
                                           "and 1 to {}",
                                           header.keys, header.lookups, keys_most, lookups_most));
  }
  const Shape shape = shape_of(header.keys);
  if (header.nodes != shape.nodes || header.levels != shape.levels) {
    return damaged_input(
        file, fmt::format("{} nodes in {} levels, but {} keys take {} in {}", header.nodes,
                          header.levels, header.keys, shape.nodes, shape.levels));
  }
  if (header.root >= header.nodes) {
    return damaged_input(file, fmt::format("the root is node {}, but the last one is {}",
                                           header.root, header.nodes - 1));
  }
  return {};
}

Header header_of(const Recipe& recipe, const MadeTree& tree) {
  Header header{};
  header.version = format_version;
  header.node_bytes = sizeof(Node);
  header.keys = recipe.keys;
  header.nodes = tree.nodes.size();
  header.lookups = recipe.lookups;
  header.root = tree.root;
  header.levels = tree.levels;
  header.seed = recipe.seed;
  return header;
}

}  // namespace

Result<TreeFile> open_tree(const std::string& path) {
  auto opened = apps::open_input(path);
  if (!opened) return opened.error();
  TreeFile file{std::move(opened.value()), {}};
  Status judged =
      apps::read_header(file, std::as_writable_bytes(std::span(&file.header, 1)), header_bytes);
  if (judged) judged = judge_header(file);
  if (judged) {
    const std::uint64_t bytes = header_bytes + file.header.nodes * sizeof(Node) +
                                file.header.lookups * sizeof(std::uint64_t);
    judged = apps::judge_size(
        file, bytes,
        fmt::format("{} nodes and {} keys to search", file.header.nodes, file.header.lookups));
  }
  if (!judged) return judged.error();
  file.offset = header_bytes;
  file.bytes = file.size - header_bytes;
  return Result<TreeFile>(std::move(file));
}

Error wrong_node(const TreeFile& file, std::uint64_t node, Wrong wrong) {
  const auto told = [&](const char* what) {
    return damaged_input(file, fmt::format("node {} {}", node, what));
  };
  switch (wrong) {
    case Wrong::depth:
      return told("is a leaf above the last level, or an inner node there");
    case Wrong::child:
      return told("has a child beyond the nodes");
    case Wrong::nothing:
    case Wrong::count:
      break;
  }
  return told("has no key, or more than it has room for");
}

std::vector<std::byte> page_of(Header header) {
  std::memcpy(header.magic, magic, sizeof(magic));
  if (header.check == 0) header.check = check_of(header);
  std::vector<std::byte> page(header_bytes);
  std::memcpy(page.data(), &header, sizeof(header));
  return page;
}

Status generate(const std::string& folder, const Recipe& recipe) {
  const std::vector<std::uint64_t> keys = keys_of(recipe.keys, recipe.seed);
  const MadeTree tree = tree_of(keys, recipe.seed);
  const std::vector<std::uint64_t> unsorted = wanted_of(keys, recipe.lookups, recipe.seed);
  std::vector<std::uint64_t> sorted = unsorted;
  std::sort(sorted.begin(), sorted.end());
  Header header = header_of(recipe, tree);
  for (const std::uint64_t key : unsorted) {
    const std::uint64_t value = value_of(keys, recipe.seed, key);
    header.found += value != absent ? 1 : 0;
    header.bits += bits_of(key, value);
  }
  const std::vector<std::byte> unsorted_page = page_of(header);
  header.sorted = 1;
  const std::vector<std::byte> sorted_page = page_of(header);
  const std::span<const std::byte> nodes = std::as_bytes(std::span(tree.nodes));
  const apps::NewFile files[] = {
      {"sorted", sorted_page, nodes, std::as_bytes(std::span(sorted))},
      {"unsorted", unsorted_page, nodes, std::as_bytes(std::span(unsorted))}};
  return apps::write_new_folder(folder, files);
}

}  // namespace k2k::bpt
