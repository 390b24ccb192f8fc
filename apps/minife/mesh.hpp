#pragma once
// The generator: -div grad u = f in the unit cube, u = 0 on its surface, with trilinear elements on
// a mesh of equal hexahedra. f is that of u = g(x) g(y) g(z) with g(t) = t (1 - t) exp(t), so the
// error of the elements is known. (Products of sines would be eigenvectors: one iteration.) The
// unknowns are the nodes within the cube.
//
// Threading: one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "apps/minife/matrix_file.hpp"

namespace k2k::minife {

struct Mesh {
  std::uint32_t elements = 24;  // A side; at least two.
  std::uint64_t seed = 1;       // Of the random order.
};

// Rows by their places, x first.
struct System {
  std::vector<std::uint64_t> starts;
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  std::vector<double> right;
  std::vector<double> exact;
};

// Integrates the elements' products of slopes exactly.
System assemble(std::uint32_t elements);

// The same system with its rows and columns in a random order.
System shuffled(const System& system, std::uint64_t seed);

// The parts in the order of matrix.hpp, in whole pages.
std::vector<std::byte> data_of(const System& system);
Header header_of(const System& system, const Mesh& mesh, bool sorted);

// Makes FOLDER with the files sorted and unsorted, the same system in two orders; both or nothing.
// Errors: as apps::write_new_folder().
Status generate(const std::string& folder, const Mesh& mesh);

}  // namespace k2k::minife
