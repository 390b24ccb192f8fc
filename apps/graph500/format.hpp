#pragma once
// The file of a graph, little-endian. Every section begins at a page, so that a region of pages
// maps offsets and targets together.
//
//   header   4,096 bytes: Header, then zeros
//   offsets  vertices + 1 words of 64 bits: the targets of vertex v are [offsets[v], offsets[v +
//   1]) targets  words of 32 bits: the neighbours, each edge from both ends, none twice, no loops
//   edges    pairs of 32 bits: the generator's list with its loops and repetitions. It serves the
//            validation and the count of traversed edges, and no search reads it.
//
// Threading: values.

#include <cstdint>
#include <cstring>

namespace k2k::graph500 {

inline constexpr char magic[8] = {'K', '2', 'K', 'G', 'R', 'A', 'P', 'H'};
inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t byte_order = 0x01020304;
inline constexpr std::uint64_t page = 4096;
inline constexpr std::uint32_t scale_max = 30;  // A vertex has 32 bits, and one number means none.
inline constexpr std::uint32_t edge_factor_max = 1024;
inline constexpr std::uint32_t roots_max = 64;  // Graph500's number of searches.

enum class Order : std::uint32_t {
  unsorted = 0,  // Vertices have random numbers, and the targets of a vertex a random order.
  sorted = 1,    // Vertices are numbered by their degree, the highest first; targets ascend.
};

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint32_t scale;  // vertices is 2 to this power.
  std::uint32_t edge_factor;
  std::uint64_t seed;
  Order order;
  std::uint32_t roots;  // Of `root`; 1 to roots_max.
  std::uint64_t vertices;
  std::uint64_t targets;
  std::uint64_t edges;
  std::uint32_t root[roots_max];  // Different vertices with edges. Files of both orders have the
                                  // same roots, each by its own numbers.
};
static_assert(sizeof(Header) == 320);

struct Edge {
  std::uint32_t from;
  std::uint32_t to;
};

constexpr std::uint64_t at_page(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }

// Places in the file. Expects a header whose sizes were checked.
struct Sections {
  explicit constexpr Sections(const Header& header)
      : targets(at_page(offsets + (header.vertices + 1) * sizeof(std::uint64_t))),
        edges(at_page(targets + header.targets * sizeof(std::uint32_t))),
        end(edges + header.edges * sizeof(Edge)) {}

  // Of offsets and targets, whole pages: all that a search reads.
  [[nodiscard]] constexpr std::uint64_t searched_bytes() const { return edges - offsets; }

  std::uint64_t offsets = page;
  std::uint64_t targets;
  std::uint64_t edges;
  std::uint64_t end;
};

}  // namespace k2k::graph500
