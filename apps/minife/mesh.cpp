#include "apps/minife/mesh.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <utility>

namespace k2k::minife {

namespace {

using Node = std::array<std::uint32_t, 3>;  // 0 to the elements, of each side.

// The interior nodes of a mesh, in rows.
struct Interior {
  std::uint32_t side;  // elements - 1

  [[nodiscard]] bool has(const Node& node) const {
    return std::all_of(node.begin(), node.end(),
                       [this](std::uint32_t at) { return at >= 1 && at <= side; });
  }
  [[nodiscard]] std::uint32_t row_of(const Node& node) const {
    return ((node[2] - 1) * side + node[1] - 1) * side + node[0] - 1;
  }
  [[nodiscard]] Node node_of(std::uint32_t row) const {
    return {row % side + 1, row / side % side + 1, row / side / side + 1};
  }
};

// One element's integrals of the functions of two corners: of their slopes, and of themselves.
// Along one axis the latter are h/3 or h/6, the former 1/h or -1/h.
struct Integrals {
  double slopes;
  double mass;
};
Integrals integrals_of(std::uint32_t left, std::uint32_t right, double width) {
  double mass[3];
  double slope[3];
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    const bool same = (left >> axis & 1) == (right >> axis & 1);
    mass[axis] = same ? width / 3 : width / 6;
    slope[axis] = same ? 1 / width : -1 / width;
  }
  return {
      slope[0] * mass[1] * mass[2] + mass[0] * slope[1] * mass[2] + mass[0] * mass[1] * slope[2],
      mass[0] * mass[1] * mass[2]};
}

Node corner_of(const Node& element, std::uint32_t corner) {
  return {element[0] + (corner & 1), element[1] + (corner >> 1 & 1), element[2] + (corner >> 2)};
}

// g, and its second derivative.
double factor_at(double at) { return at * (1 - at) * std::exp(at); }
double bend_at(double at) { return -at * (3 + at) * std::exp(at); }

double solution_at(const Node& node, double width) {
  return factor_at(node[0] * width) * factor_at(node[1] * width) * factor_at(node[2] * width);
}

double source_at(const Node& node, double width) {
  double sum = 0;
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    double product = 1;
    for (std::uint32_t other = 0; other < 3; ++other) {
      const double at = node[other] * width;
      product *= other == axis ? bend_at(at) : factor_at(at);
    }
    sum -= product;
  }
  return sum;
}

// Rows with their columns, and zeros.
System empty_system(const Interior& interior) {
  System system;
  const std::uint32_t rows = interior.side * interior.side * interior.side;
  system.starts.push_back(0);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const Node node = interior.node_of(row);
    for (std::uint32_t around = 0; around < 27; ++around) {
      const Node other = {node[0] + around % 3 - 1, node[1] + around / 3 % 3 - 1,
                          node[2] + around / 9 - 1};
      if (interior.has(other)) system.columns.push_back(interior.row_of(other));
    }
    system.starts.push_back(system.columns.size());
  }
  system.values.resize(system.columns.size());
  system.right.resize(rows);
  system.exact.resize(rows);
  return system;
}

double& value_at(System& system, std::uint32_t row, std::uint32_t column) {
  const auto begin = system.columns.begin() + static_cast<std::ptrdiff_t>(system.starts[row]);
  const auto end = system.columns.begin() + static_cast<std::ptrdiff_t>(system.starts[row + 1]);
  const auto found = std::lower_bound(begin, end, column);
  return system.values[static_cast<std::size_t>(found - system.columns.begin())];
}

void add_element(System& system, const Interior& interior, const Node& element, double width) {
  for (std::uint32_t left = 0; left < 8; ++left) {
    const Node node = corner_of(element, left);
    if (!interior.has(node)) continue;
    const std::uint32_t row = interior.row_of(node);
    for (std::uint32_t right = 0; right < 8; ++right) {
      const Node other = corner_of(element, right);
      const Integrals integrals = integrals_of(left, right, width);
      system.right[row] += integrals.mass * source_at(other, width);
      if (!interior.has(other)) continue;  // Its u is 0.
      value_at(system, row, interior.row_of(other)) += integrals.slopes;
    }
  }
}

template <class Value>
void put(std::vector<std::byte>& data, std::uint64_t offset, const std::vector<Value>& values) {
  std::memcpy(data.data() + offset, values.data(), values.size() * sizeof(Value));
}

}  // namespace

System assemble(std::uint32_t elements) {
  const Interior interior{elements - 1};
  const double width = 1.0 / elements;
  System system = empty_system(interior);
  for (std::uint32_t row = 0; row < system.exact.size(); ++row) {
    system.exact[row] = solution_at(interior.node_of(row), width);
  }
  for (std::uint32_t z = 0; z < elements; ++z) {
    for (std::uint32_t y = 0; y < elements; ++y) {
      for (std::uint32_t x = 0; x < elements; ++x) {
        add_element(system, interior, {x, y, z}, width);
      }
    }
  }
  return system;
}

System shuffled(const System& system, std::uint64_t seed) {
  const std::size_t rows = system.right.size();
  std::vector<std::uint32_t> old_of(rows);  // By the new row.
  std::iota(old_of.begin(), old_of.end(), 0u);
  std::mt19937_64 random(seed);
  for (std::size_t left = rows; left > 1; --left) {
    std::swap(old_of[left - 1], old_of[random() % left]);
  }
  std::vector<std::uint32_t> new_of(rows);
  for (std::uint32_t row = 0; row < rows; ++row) new_of[old_of[row]] = row;

  System made;
  made.starts.push_back(0);
  std::vector<std::pair<std::uint32_t, double>> entries;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint32_t old = old_of[row];
    entries.clear();
    for (std::uint64_t entry = system.starts[old]; entry < system.starts[old + 1]; ++entry) {
      entries.emplace_back(new_of[system.columns[entry]], system.values[entry]);
    }
    std::sort(entries.begin(), entries.end());
    for (const auto& [column, value] : entries) {
      made.columns.push_back(column);
      made.values.push_back(value);
    }
    made.starts.push_back(made.columns.size());
    made.right.push_back(system.right[old]);
    made.exact.push_back(system.exact[old]);
  }
  return made;
}

std::vector<std::byte> data_of(const System& system) {
  const Layout layout = layout_of(system.right.size(), system.columns.size());
  std::vector<std::byte> data(layout.bytes);
  put(data, 0, system.starts);
  put(data, layout.columns, system.columns);
  put(data, layout.values, system.values);
  put(data, layout.right, system.right);
  put(data, layout.exact, system.exact);
  return data;
}

Header header_of(const System& system, const Mesh& mesh, bool sorted) {
  Header header{};
  header.version = format_version;
  header.sorted = sorted ? 1 : 0;
  header.rows = system.right.size();
  header.entries = system.columns.size();
  header.elements = mesh.elements;
  header.seed = mesh.seed;
  return header;
}

Status generate(const std::string& folder, const Mesh& mesh) {
  const System sorted = assemble(mesh.elements);
  const System unsorted = shuffled(sorted, mesh.seed);
  const std::vector<std::byte> sorted_data = data_of(sorted);
  const std::vector<std::byte> unsorted_data = data_of(unsorted);
  const std::vector<std::byte> sorted_head = head_of(header_of(sorted, mesh, true), sorted_data);
  const std::vector<std::byte> unsorted_head =
      head_of(header_of(unsorted, mesh, false), unsorted_data);
  const apps::NewFile files[] = {{"sorted", sorted_head, sorted_data},
                                 {"unsorted", unsorted_head, unsorted_data}};
  return apps::write_new_folder(folder, files);
}

}  // namespace k2k::minife
