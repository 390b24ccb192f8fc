#pragma once
// The work of the kernels of miniFE: pointers and sizes, by value. Every array is device memory but
// the partial sums, which the host reads.
//
// Threading: plain data; steps.hpp tells which kernel writes which array.

#include <cstdint>

#include "apps/minife/matrix.hpp"

namespace k2k::minife {

// Rows whose sums are added in order by one work-item: so a sum is equal for every shape of launch.
inline constexpr std::uint32_t block_rows = 256;

struct Partial {
  double product = 0;      // Of the vectors that the kernel multiplies.
  double error = 0;        // The largest |x - exact|.
  std::uint64_t bits = 0;  // A sum over the bits of x.
};

struct Job {
  Matrix matrix;
  const std::uint64_t* checks = nullptr;  // One a page of the matrix.
  std::uint64_t* wrong = nullptr;         // The least place << 8 | Wrong, or no_wrong.
  double* solution = nullptr;             // x
  double* residual = nullptr;             // r = b - A x
  double* direction = nullptr;            // p
  double* image = nullptr;                // A p
  Partial* partial = nullptr;             // One a block.

  [[nodiscard]] K2K_HD std::uint64_t blocks() const {
    return (matrix.layout.rows + block_rows - 1) / block_rows;
  }
};
inline constexpr std::uint64_t no_wrong = ~std::uint64_t{0};

}  // namespace k2k::minife
