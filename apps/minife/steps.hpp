#pragma once
// The kernels of miniFE: conjugate gradients (Hestenes and Stiefel, J. Res. NBS 49, 1952) without
// a preconditioner. An iteration is three launches, because each of its two sums must be complete
// before the next vector is computed:
//
//   multiply   image = A direction         sum: direction * image
//   advance    solution, residual          sum: residual * residual
//   turn       direction = residual + beta direction
//
// Before the first iteration `take` compares the check of every page, `judge` looks at every row,
// and `begin` sets the vectors. `measure` multiplies once more at the end: for the residual that is
// really left, and the error.
//
// Threads of the host run the same code: each function makes the share of one work-item or thread.
//
// Threading: device code and host code; a share takes pages (take), or blocks of rows.

#include <cstring>

#include "apps/common/share.hpp"
#include "apps/minife/job.hpp"
#include "device/atomic.hpp"

namespace k2k::minife {

using apps::Share;

K2K_HD inline void tell_wrong(const Job& job, std::uint64_t place, Wrong wrong) {
  k2k::AtomicRef(*job.wrong).fetch_min(place << 8 | static_cast<std::uint64_t>(wrong));
}

K2K_HD inline void take(const Job& job, const Share& share) {
  for (std::uint64_t page = share.rank; page < job.matrix.layout.pages(); page += share.count) {
    if (check_of_page(job.matrix.data + page * page_bytes) != job.checks[page]) {
      tell_wrong(job, page, Wrong::damaged);
    }
  }
}

// Calls `each` with the number of a block and its rows: its first one, and the one behind it.
template <class Each>
K2K_HD inline void for_my_blocks(const Job& job, const Share& share, const Each& each) {
  for (std::uint64_t block = share.rank; block < job.blocks(); block += share.count) {
    const std::uint64_t first = block * block_rows;
    const std::uint64_t rest = job.matrix.layout.rows - first;
    each(block, first, first + (rest < block_rows ? rest : block_rows));
  }
}

K2K_HD inline void judge(const Job& job, const Share& share) {
  for_my_blocks(job, share, [&](std::uint64_t, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t row = first; row < end; ++row) {
      const Wrong wrong = wrong_with_row(job.matrix, row);
      if (wrong != Wrong::nothing) tell_wrong(job, row, wrong);
    }
  });
}

K2K_HD inline void begin(const Job& job, const Share& share) {
  for_my_blocks(job, share, [&](std::uint64_t block, std::uint64_t first, std::uint64_t end) {
    double sum = 0;
    for (std::uint64_t row = first; row < end; ++row) {
      const double right = job.matrix.right()[row];
      job.solution[row] = 0;
      job.residual[row] = right;
      job.direction[row] = right;
      sum += right * right;
    }
    job.partial[block].product = sum;
  });
}

// One row of A times a vector.
K2K_HD inline double times_row(const Matrix& matrix, std::uint64_t row, const double* vector) {
  double sum = 0;
  const std::uint64_t end = matrix.starts()[row + 1];
  for (std::uint64_t entry = matrix.starts()[row]; entry < end; ++entry) {
    sum += matrix.values()[entry] * vector[matrix.columns()[entry]];
  }
  return sum;
}

K2K_HD inline void multiply(const Job& job, const Share& share) {
  for_my_blocks(job, share, [&](std::uint64_t block, std::uint64_t first, std::uint64_t end) {
    double sum = 0;
    for (std::uint64_t row = first; row < end; ++row) {
      const double image = times_row(job.matrix, row, job.direction);
      job.image[row] = image;
      sum += job.direction[row] * image;
    }
    job.partial[block].product = sum;
  });
}

K2K_HD inline void advance(const Job& job, const Share& share, double alpha) {
  for_my_blocks(job, share, [&](std::uint64_t block, std::uint64_t first, std::uint64_t end) {
    double sum = 0;
    for (std::uint64_t row = first; row < end; ++row) {
      job.solution[row] += alpha * job.direction[row];
      job.residual[row] -= alpha * job.image[row];
      sum += job.residual[row] * job.residual[row];
    }
    job.partial[block].product = sum;
  });
}

K2K_HD inline void turn(const Job& job, const Share& share, double beta) {
  for_my_blocks(job, share, [&](std::uint64_t, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t row = first; row < end; ++row) {
      job.direction[row] = job.residual[row] + beta * job.direction[row];
    }
  });
}

K2K_HD inline void measure(const Job& job, const Share& share) {
  for_my_blocks(job, share, [&](std::uint64_t block, std::uint64_t first, std::uint64_t end) {
    Partial sum;
    for (std::uint64_t row = first; row < end; ++row) {
      const double left = job.matrix.right()[row] - times_row(job.matrix, row, job.solution);
      sum.product += left * left;
      const double apart = job.solution[row] - job.matrix.exact()[row];
      const double error = apart < 0 ? -apart : apart;
      if (error > sum.error) sum.error = error;
      std::uint64_t word = 0;
      memcpy(&word, &job.solution[row], sizeof(word));
      sum.bits += apps::check_of_words(&word, 1);
    }
    job.partial[block] = sum;
  });
}

}  // namespace k2k::minife
