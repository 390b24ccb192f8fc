#include "apps/xsbench/table_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

namespace k2k::xsbench {

namespace {

constexpr char magic[8] = {'K', '2', 'K', 'X', 'S', 'B', '\n', 0};

using apps::check_of_words;
using apps::damaged_input;
using apps::wrong_input;

constexpr std::uint64_t pages_of(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

std::uint64_t check_of(const Header& header) {
  std::uint64_t words[offsetof(Header, check) / 8];
  std::memcpy(words, &header, sizeof(words));
  return check_of_words(words, offsetof(Header, check) / 8);
}

std::uint64_t check_of(std::span<const std::byte> pages) {
  std::vector<std::uint64_t> words(pages.size() / 8);
  std::memcpy(words.data(), pages.data(), words.size() * 8);
  return check_of_words(words.data(), static_cast<std::uint32_t>(words.size()));
}

// The places of the materials' parts in their pages.
struct MaterialLayout {
  explicit constexpr MaterialLayout(std::uint64_t entries)
      : concentrations((nuclides + entries * sizeof(std::uint32_t) + 7) / 8 * 8),
        bytes(pages_of(concentrations + entries * sizeof(double))) {}

  std::uint64_t nuclides = material_count * sizeof(Material);
  std::uint64_t concentrations;
  std::uint64_t bytes;
};

Status judge_header(const TableFile& file) {
  const Header& header = file.header;
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0) {
    return wrong_input(file,
                       "no file of cross-sections, which begins with K2KXSB; make one with "
                       "--generate");
  }
  if (header.version != format_version || header.point_bytes != sizeof(Point)) {
    return damaged_input(
        file, fmt::format("version {} of the format with {} bytes a point, but this program reads "
                          "version {} with {}",
                          header.version, header.point_bytes, format_version, sizeof(Point)));
  }
  if (check_of(header) != header.check) {
    return damaged_input(file, "the header is damaged: its check does not fit");
  }
  if (header.nuclides < 2 || header.nuclides > nuclides_most || header.grid_points < 2 ||
      header.grid_points > grid_points_most || header.lookups == 0 ||
      header.lookups > lookups_most || header.entries > material_count * header.nuclides) {
    return damaged_input(
        file, fmt::format("{} nuclides of {} points, {} entries of materials and {} lookups; "
                          "permitted are 2 to {}, 2 to {}, {} for each nuclide, and 1 to {}",
                          header.nuclides, header.grid_points, header.entries, header.lookups,
                          nuclides_most, grid_points_most, material_count, lookups_most));
  }
  return {};
}

Status judge_materials(const TableFile& file) {
  const Header& header = file.header;
  for (std::uint32_t place = 0; place < material_count; ++place) {
    const Material& one = file.materials[place];
    if (one.begin <= one.end && one.end <= header.entries) continue;
    return damaged_input(file, fmt::format("material {} has the entries {} to {}, of {}", place,
                                           one.begin, one.end, header.entries));
  }
  for (std::uint32_t entry = 0; entry < header.entries; ++entry) {
    if (file.material_nuclides[entry] >= header.nuclides) {
      return damaged_input(
          file, fmt::format("entry {} of the materials is nuclide {}, but the last one is {}",
                            entry, file.material_nuclides[entry], header.nuclides - 1));
    }
    if (!std::isfinite(file.concentrations[entry])) {
      return damaged_input(file, fmt::format("entry {} of the materials has the concentration {}",
                                             entry, file.concentrations[entry]));
    }
  }
  return {};
}

Status read_materials(TableFile& file) {
  const std::uint32_t entries = file.header.entries;
  const MaterialLayout at(entries);
  std::vector<std::byte> pages(at.bytes);
  if (Status read = apps::read_at(file, pages.data(), pages.size(), page_bytes); !read) return read;
  if (check_of(pages) != file.header.material_check) {
    return damaged_input(file, "the materials are damaged: their check does not fit");
  }
  file.materials.resize(material_count);
  file.material_nuclides.resize(entries);
  file.concentrations.resize(entries);
  std::memcpy(file.materials.data(), pages.data(), at.nuclides);
  std::memcpy(file.material_nuclides.data(), pages.data() + at.nuclides,
              entries * sizeof(std::uint32_t));
  std::memcpy(file.concentrations.data(), pages.data() + at.concentrations,
              entries * sizeof(double));
  return judge_materials(file);
}

Header header_of(const Recipe& recipe, const Tables& tables) {
  Header header{};
  header.version = format_version;
  header.point_bytes = sizeof(Point);
  header.nuclides = recipe.nuclides;
  header.grid_points = recipe.grid_points;
  header.entries = static_cast<std::uint32_t>(tables.material_nuclides.size());
  header.lookups = recipe.lookups;
  header.seed = recipe.seed;
  return header;
}

// Points, energies and indices, as Layout has them.
std::vector<std::byte> data_of(const Tables& tables, const Layout& layout) {
  std::vector<std::byte> data(layout.samples);
  const auto put = [&](std::uint64_t at, const auto& values) {
    std::memcpy(data.data() + at, values.data(), values.size() * sizeof(values[0]));
  };
  put(0, tables.points);
  put(layout.energies, tables.energies);
  put(layout.indices, tables.indices);
  return data;
}

}  // namespace

Layout::Layout(const Header& header)
    : head(page_bytes + MaterialLayout(header.entries).bytes),
      energies(pages_of(header.energies() * sizeof(Point))),
      indices(energies + pages_of(header.energies() * sizeof(double))),
      samples(indices + pages_of(header.energies() * header.nuclides * sizeof(std::uint32_t))),
      bytes(samples + header.lookups * sizeof(Sample)) {}

Result<TableFile> open_tables(const std::string& path) {
  auto opened = apps::open_input(path);
  if (!opened) return opened.error();
  TableFile file{std::move(opened.value()), {}, {}, {}, {}};
  Status judged =
      apps::read_header(file, std::as_writable_bytes(std::span(&file.header, 1)), page_bytes);
  if (judged) judged = judge_header(file);
  if (!judged) return judged.error();
  const Layout layout(file.header);
  judged = apps::judge_size(
      file, layout.head + layout.bytes,
      fmt::format("{} nuclides of {} points, {} entries of materials and {} lookups",
                  file.header.nuclides, file.header.grid_points, file.header.entries,
                  file.header.lookups));
  if (judged) judged = read_materials(file);
  if (!judged) return judged.error();
  file.offset = layout.head;
  file.bytes = layout.bytes;
  return Result<TableFile>(std::move(file));
}

Error wrong_word(const TableFile& file, std::uint64_t place, Wrong wrong) {
  switch (wrong) {
    case Wrong::energy:
      return damaged_input(file,
                           fmt::format("lookup {} has an energy that is not in 0 to 1", place));
    case Wrong::material:
      return damaged_input(
          file, fmt::format("lookup {} has a material beyond the {}", place, material_count));
    case Wrong::nothing:
    case Wrong::index:
      break;
  }
  return damaged_input(file, fmt::format("energy {} has an index beyond the {} points of a nuclide",
                                         place, file.header.grid_points));
}

std::vector<std::byte> head_of(Header header, const Tables& tables) {
  const MaterialLayout at(header.entries);
  std::vector<std::byte> head(page_bytes + at.bytes);
  std::byte* const pages = head.data() + page_bytes;
  std::memcpy(pages, tables.materials.data(), at.nuclides);
  std::memcpy(pages + at.nuclides, tables.material_nuclides.data(),
              header.entries * sizeof(std::uint32_t));
  std::memcpy(pages + at.concentrations, tables.concentrations.data(),
              header.entries * sizeof(double));
  std::memcpy(header.magic, magic, sizeof(magic));
  if (header.material_check == 0) header.material_check = check_of({pages, at.bytes});
  if (header.check == 0) header.check = check_of(header);
  std::memcpy(head.data(), &header, sizeof(header));
  return head;
}

Status generate(const std::string& folder, const Recipe& recipe) {
  const Tables tables = tables_of(recipe.nuclides, recipe.grid_points, recipe.seed);
  std::vector<Sample> unsorted(recipe.lookups);
  Header header = header_of(recipe, tables);
  for (std::uint64_t lookup = 0; lookup < recipe.lookups; ++lookup) {
    unsorted[lookup] = sample_of(recipe.seed + 2, lookup);
    header.bits += bits_of(unsorted[lookup], search_each(tables, unsorted[lookup]));
  }
  std::vector<Sample> sorted = unsorted;
  std::sort(sorted.begin(), sorted.end(), [](const Sample& left, const Sample& right) {
    return left.energy != right.energy ? left.energy < right.energy
                                       : left.material < right.material;
  });
  const std::vector<std::byte> unsorted_head = head_of(header, tables);
  header.sorted = 1;
  const std::vector<std::byte> sorted_head = head_of(header, tables);
  const std::vector<std::byte> data = data_of(tables, Layout(header));
  const apps::NewFile files[] = {
      {"sorted", sorted_head, data, std::as_bytes(std::span(sorted))},
      {"unsorted", unsorted_head, data, std::as_bytes(std::span(unsorted))}};
  return apps::write_new_folder(folder, files);
}

}  // namespace k2k::xsbench
