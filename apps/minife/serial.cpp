// miniFE by another method: it keeps the diagonal and the half above it, and an entry serves two
// rows. Of the kernels' functions only those that judge the file.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/minife/solve.hpp"
#include "base/clock.hpp"

namespace k2k::minife {

namespace {

using Vector = std::vector<double>;

class HalfMatrix {
 public:
  explicit HalfMatrix(const Matrix& matrix) : diagonal_(matrix.layout.rows) {
    for (std::uint32_t row = 0; row < matrix.layout.rows; ++row) {
      for (std::uint64_t entry = matrix.starts()[row]; entry < matrix.starts()[row + 1]; ++entry) {
        const std::uint32_t column = matrix.columns()[entry];
        const double value = matrix.values()[entry];
        if (column == row) diagonal_[row] = value;
        if (column > row) above_.push_back({row, column, value});
      }
    }
  }

  [[nodiscard]] Vector times(const Vector& vector) const {
    Vector image(vector.size());
    for (std::size_t row = 0; row < image.size(); ++row) image[row] = diagonal_[row] * vector[row];
    for (const Entry& entry : above_) {
      image[entry.row] += entry.value * vector[entry.column];
      image[entry.column] += entry.value * vector[entry.row];
    }
    return image;
  }

 private:
  struct Entry {
    std::uint32_t row;
    std::uint32_t column;
    double value;
  };
  Vector diagonal_;
  std::vector<Entry> above_;
};

double dot(const Vector& left, const Vector& right) {
  return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
}

// `to` += factor * `from`
void add(Vector& to, double factor, const Vector& from) {
  for (std::size_t row = 0; row < to.size(); ++row) to[row] += factor * from[row];
}

Status judge(const MatrixFile& file, const Matrix& matrix) {
  for (std::uint64_t page = 0; page < file.layout.pages(); ++page) {
    if (check_of_page(matrix.data + page * page_bytes) != file.checks[page]) {
      return wrong_place(file, Wrong::damaged, page);
    }
  }
  for (std::uint64_t row = 0; row < file.layout.rows; ++row) {
    const Wrong wrong = wrong_with_row(matrix, row);
    if (wrong != Wrong::nothing) return wrong_place(file, wrong, row);
  }
  return {};
}

}  // namespace

Result<Outcome> solve_serially(const MatrixFile& file, const Settings& settings) {
  Outcome outcome;
  outcome.begin = apps::process_memory_now();
  const Instant begin = now();
  std::vector<std::uint64_t> words(file.bytes / sizeof(std::uint64_t));
  if (Status read = apps::read_at(file, words.data(), file.bytes, file.offset); !read) {
    return read.error();
  }
  const Matrix matrix{file.layout, reinterpret_cast<const std::byte*>(words.data())};
  if (Status judged = judge(file, matrix); !judged) return judged.error();
  outcome.read_seconds = seconds_since(begin);
  outcome.taken = apps::process_memory_now();

  const HalfMatrix half(matrix);
  const std::size_t rows = file.layout.rows;
  const Vector right(matrix.right(), matrix.right() + rows);
  const double length = std::sqrt(dot(right, right));
  Vector solution(rows);
  Vector residual = right;
  Vector direction = right;
  outcome.converged = length == 0;
  while (!outcome.converged && outcome.residuals.size() < settings.iterations) {
    const Vector image = half.times(direction);
    const double square = dot(residual, residual);
    const double bend = dot(direction, image);
    if (!(bend > 0)) return not_definite(file, outcome.residuals.size() + 1, bend);
    add(solution, square / bend, direction);
    add(residual, -square / bend, image);
    const double next = dot(residual, residual);
    outcome.residuals.push_back(std::sqrt(next) / length);
    outcome.converged = outcome.residuals.back() <= settings.tolerance;
    for (std::size_t row = 0; row < rows; ++row) {
      direction[row] = residual[row] + next / square * direction[row];
    }
  }
  Vector left = right;
  add(left, -1, half.times(solution));
  outcome.true_residual = length > 0 ? std::sqrt(dot(left, left)) / length : 0;
  for (std::size_t row = 0; row < rows; ++row) {
    outcome.error = std::max(outcome.error, std::abs(solution[row] - matrix.exact()[row]));
  }
  outcome.end = apps::process_memory_now();
  outcome.seconds = seconds_since(begin);
  if (settings.keep_solution) outcome.solution = solution;
  return outcome;
}

}  // namespace k2k::minife
