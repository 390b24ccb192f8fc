#pragma once
// Files of cross-sections and of lookups in them, little-endian. Each section begins at a page:
//
//   header     Header, then zeros
//   materials  12 ranges of entries (two words of 32 bits), then the nuclide (32 bits) of each
//              entry, then, from a multiple of 8 bytes on, its concentration (double)
//   points     of each nuclide by its energies: energy and five cross-sections (double)
//   energies   of all nuclides, ascending (double)
//   indices    of each energy, for each nuclide: its last point at or below the energy (32 bits)
//   samples    what is looked up: energy (double), material, a zero (32 bits each)
//
// Opening a file judges header, size and materials. The rest, which kernels map, is judged by the
// lookups that read it, because a judgement of all would bring every page into memory.
//
// Threading: one thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/common/input_file.hpp"
#include "apps/xsbench/lookup.hpp"
#include "apps/xsbench/tables.hpp"
#include "base/result.hpp"

namespace k2k::xsbench {

inline constexpr std::uint32_t page_bytes = 4096;
inline constexpr std::uint32_t format_version = 1;
inline constexpr std::uint32_t nuclides_most = 1'024;
inline constexpr std::uint32_t grid_points_most = 100'000;
inline constexpr std::uint64_t lookups_most = 1'000'000'000;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t point_bytes;
  std::uint32_t nuclides;
  std::uint32_t grid_points;  // Of each nuclide.
  std::uint32_t entries;      // Of all materials.
  std::uint32_t sorted;       // 1: the samples ascend by their energies; 0: a random order.
  std::uint64_t lookups;
  std::uint64_t bits;  // A sum over the bits of all samples and answers.
  std::uint64_t seed;
  std::uint64_t material_check;
  std::uint64_t check;  // Of the bytes before it.

  [[nodiscard]] std::uint64_t energies() const { return std::uint64_t{nuclides} * grid_points; }
};
static_assert(sizeof(Header) == 72);

// Bytes before the sections that kernels map, and their places behind them. Expects a header whose
// sizes are permitted.
struct Layout {
  explicit Layout(const Header& header);

  std::uint64_t head;
  std::uint64_t energies;  // Points begin at 0.
  std::uint64_t indices;
  std::uint64_t samples;
  std::uint64_t bytes;
};

struct TableFile : apps::InputFile {
  Header header{};
  std::vector<Material> materials;
  std::vector<std::uint32_t> material_nuclides;
  std::vector<double> concentrations;
};

// Errors: those of open(2) and read(2); EINVAL (each field above, with the remedy; a range or a
// nuclide of the materials that is wrong; a file that is cut or too long).
Result<TableFile> open_tables(const std::string& path);

// One line about what ended a lookup.
Error wrong_word(const TableFile& file, std::uint64_t place, Wrong wrong);

// Header and materials, whole pages. Sets the magic and, where they are 0, the checks, so that
// tests can write wrong ones.
std::vector<std::byte> head_of(Header header, const Tables& tables);

struct Recipe {
  std::uint32_t nuclides = 68;  // Of XSBench's small problem, as below.
  std::uint32_t grid_points = 512;
  std::uint64_t lookups = 30'000;
  std::uint64_t seed = 1;
};

// Makes the folder with the same tables and samples in the files "sorted" and "unsorted". Expects
// numbers in their ranges. Errors: as apps::write_new_folder(). Throws std::bad_alloc.
Status generate(const std::string& folder, const Recipe& recipe);

}  // namespace k2k::xsbench
