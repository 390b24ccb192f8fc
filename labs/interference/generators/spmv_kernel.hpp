#pragma once
// Device code of the sparse matrix-vector product in compressed rows, one work-item per row (SHOC's
// "scalar" kernel). C++17, any device.

#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::labs::generators {

struct SpmvKernel {
  const std::uint32_t* offsets;
  const std::uint32_t* columns;
  const double* values;
  const double* x;
  double* y;
  std::uint32_t rows;

  K2K_DEVICE void operator()() const {
    for (std::uint64_t row = k2k::global_rank(); row < rows; row += k2k::global_size()) {
      double sum = 0;
      const std::uint32_t end = offsets[row + 1];
      for (std::uint32_t entry = offsets[row]; entry < end; ++entry) {
        sum += values[entry] * x[columns[entry]];
      }
      y[row] = sum;
    }
  }
};

}  // namespace k2k::labs::generators
