#include "apps/comd/atom_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "apps/comd/pair.hpp"

namespace k2k::comd {

namespace {

constexpr char magic[] = {'K', '2', 'K', 'C', 'o', 'M', 'D', '\n'};

using apps::damaged_input;
using apps::wrong_input;

Status judge_header(const AtomFile& file) {
  const Header& header = file.header;
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0) {
    return wrong_input(file,
                       "no file of atoms, which begins with K2KCoMD; make one with --generate");
  }
  if (header.version != format_version || header.atom_bytes != sizeof(Atom)) {
    return damaged_input(
        file, fmt::format("version {} of the format with {} bytes an atom, but this program "
                          "reads version {} with {}",
                          header.version, header.atom_bytes, format_version, sizeof(Atom)));
  }
  if (check_of(header) != header.check) {
    return damaged_input(file, "the header is damaged: its check does not fit");
  }
  if (header.atoms == 0) return damaged_input(file, "no atoms");
  if (header.atoms > atoms_most) {
    return wrong_input(file,
                       fmt::format("{} atoms; permitted are 1 to {}", header.atoms, atoms_most));
  }
  for (const double side : header.side) {
    if (!std::isfinite(side) || side <= 0) {
      return damaged_input(file, fmt::format("a side of the box is {}", side));
    }
    if (side < 2 * cutoff) {
      return wrong_input(
          file, fmt::format("the cutoff of {} is larger than half the box's side of {:.4g}; "
                            "make a larger file with --unit-cells",
                            cutoff, side));
    }
  }
  return {};
}

}  // namespace

std::uint64_t check_of(const Header& header) {
  std::uint64_t words[offsetof(Header, check) / 8];
  std::memcpy(words, &header, sizeof(words));
  return apps::check_of_words(words, offsetof(Header, check) / 8);
}

Box box_of(const double* sides, std::uint64_t atoms) {
  // A box with few atoms has wider cells than the cutoff, so that there are not more cells than
  // atoms by far.
  const double most = std::max(2.0, std::ceil(std::cbrt(static_cast<double>(atoms))));
  Box box;
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    const double cells = std::min(std::floor(sides[axis] / cutoff), most);
    box.side[axis] = sides[axis];
    box.cells[axis] = static_cast<std::uint32_t>(cells);
    box.cells_a_length[axis] = cells / sides[axis];
  }
  return box;
}

Result<AtomFile> open_atoms(const std::string& path) {
  auto opened = apps::open_input(path);
  if (!opened) return opened.error();
  AtomFile file{std::move(opened.value()), {}, {}};
  Status judged =
      apps::read_header(file, std::as_writable_bytes(std::span(&file.header, 1)), header_bytes);
  if (judged) judged = judge_header(file);
  if (judged) {
    judged = apps::judge_size(file, header_bytes + file.header.atoms * sizeof(Atom),
                              fmt::format("{} atoms", file.header.atoms));
  }
  if (!judged) return judged.error();
  file.offset = header_bytes;
  file.bytes = file.size - header_bytes;
  file.box = box_of(file.header.side, file.header.atoms);
  return Result<AtomFile>(std::move(file));
}

Error wrong_atom(const AtomFile& file, Wrong wrong, std::uint64_t index, const Atom& atom,
                 std::uint64_t step) {
  const auto place =
      fmt::format("({:.6g}, {:.6g}, {:.6g})", atom.place[0], atom.place[1], atom.place[2]);
  switch (wrong) {
    case Wrong::damaged:
      return damaged_input(file, fmt::format("atom {} is damaged: its check does not fit", index));
    case Wrong::not_finite:
      return damaged_input(
          file, fmt::format("atom {} has a place or a velocity that is not finite: {} and "
                            "({:.6g}, {:.6g}, {:.6g})",
                            index, place, atom.velocity[0], atom.velocity[1], atom.velocity[2]));
    case Wrong::outside:
      return damaged_input(
          file, fmt::format("atom {} lies at {}, outside the box of {:.6g} x {:.6g} x "
                            "{:.6g}",
                            index, place, file.box.side[0], file.box.side[1], file.box.side[2]));
    case Wrong::strange_id:
      return damaged_input(
          file, fmt::format("atom {} has the id {}, but the ids of {} atoms end at {}", index,
                            atom.id, file.header.atoms, file.header.atoms - 1));
    case Wrong::id_twice:
      return damaged_input(
          file, fmt::format("atom {} has the id {}, as another atom has", index, atom.id));
    case Wrong::crowded:
      return wrong_input(file,
                         fmt::format("step {}: too many atoms in the cell of atom {} at {}; make a "
                                     "file with a larger --lattice, or take a smaller --dt",
                                     step, index, place));
    case Wrong::nothing:
    case Wrong::flew:
      break;
  }
  return wrong_input(
      file, fmt::format("step {}: atom {} flew out of the box from {}; take a smaller --dt, "
                        "or a file without atoms at one place",
                        step, index, place));
}

std::vector<std::byte> finish(Header header, std::vector<Atom>& atoms) {
  std::memcpy(header.magic, magic, sizeof(magic));
  header.atoms = atoms.size();
  if (header.check == 0) header.check = check_of(header);
  for (Atom& atom : atoms) {
    if (atom.check == 0) atom.check = check_of(atom);
  }
  std::vector<std::byte> page(header_bytes);
  std::memcpy(page.data(), &header, sizeof(header));
  return page;
}

Status write_atoms(const std::string& path, const Header& header, std::vector<Atom> atoms) {
  const std::vector<std::byte> page = finish(header, atoms);
  return apps::write_new_file({path, page, std::as_bytes(std::span(atoms))});
}

}  // namespace k2k::comd
