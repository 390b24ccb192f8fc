#pragma once
// Files of atoms: one page of header, then 64 bytes an atom (atom.hpp), little-endian.
//
//   byte 0      "K2KCoMD\n"
//   8, 12       version (1), bytes of an atom (64)
//   16          number of atoms
//   24, 32, 40  sides of the box (double)
//   48, 56, 64  lattice constant, temperature (double), seed of the generator
//   72          1: sorted by cells; 0: in a random order; then 4 zero bytes
//   80          check of the bytes before it; zeros follow up to byte 4096
//
// Opening a file judges its header and its size. Its atoms are judged by their first reader, which
// in demand mode is a kernel.
//
// Threading: one thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/comd/atom.hpp"
#include "apps/common/input_file.hpp"
#include "base/result.hpp"

namespace k2k::comd {

inline constexpr std::uint32_t header_bytes = 4096;
inline constexpr std::uint32_t format_version = 1;
inline constexpr std::uint64_t atoms_most = std::uint64_t{1} << 28;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t atom_bytes;
  std::uint64_t atoms;
  double side[3];
  double lattice;
  double temperature;
  std::uint64_t seed;
  std::uint32_t sorted;
  std::uint32_t zero;
  std::uint64_t check;
};
static_assert(sizeof(Header) == 88);

std::uint64_t check_of(const Header& header);

struct AtomFile : apps::InputFile {
  Header header{};
  Box box;
};

// Errors: those of open(2) and read(2); EINVAL (each field above, with the remedy; a box narrower
// than two cutoffs; no atoms; a file that is cut or too long).
Result<AtomFile> open_atoms(const std::string& path);

// Reads all atoms into `to`. Errors: as apps::read_at().
inline Status read_atoms(const AtomFile& file, Atom* to) {
  return apps::read_at(file, to, file.bytes, file.offset);
}

// One line about an atom that ends the run. `atom` has its values now, `step` 0: of the file.
Error wrong_atom(const AtomFile& file, Wrong wrong, std::uint64_t index, const Atom& atom,
                 std::uint64_t step);

// The cells of a box. Expects sides of at least two cutoffs.
Box box_of(const double* sides, std::uint64_t atoms);

// The first page of a file of these atoms. Sets the checks of the header and of atoms whose check
// is 0, so that tests can write wrong ones.
std::vector<std::byte> finish(Header header, std::vector<Atom>& atoms);

// Errors: as apps::write_new_file().
Status write_atoms(const std::string& path, const Header& header, std::vector<Atom> atoms);

}  // namespace k2k::comd
