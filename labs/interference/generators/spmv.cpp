// SpMV of HISS, section III (SHOC; Danalis et al., GPGPU'10): the matrix is read in sequence, the
// vector at random. Values are small whole numbers, so that every order of additions gives the same
// sum.

#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"

namespace k2k::labs::generators {

namespace {

// The matrix as a function of counter-based random numbers: the reference needs no tables.
struct Matrix {
  std::uint32_t rows;
  std::uint64_t seed;

  [[nodiscard]] std::uint32_t entries(std::uint32_t row) const {
    return 1 + below(31, draw(seed, row));
  }
  [[nodiscard]] std::uint64_t entry(std::uint32_t row, std::uint32_t which) const {
    return draw(seed + 1, std::uint64_t{row} * 32 + which);
  }
  [[nodiscard]] std::uint32_t column(std::uint64_t entry) const { return below(rows, entry); }
  [[nodiscard]] static double value(std::uint64_t entry) {
    return static_cast<double>(entry % 17) - 8;
  }
  [[nodiscard]] double x(std::uint32_t column) const {
    return static_cast<double>(draw(seed + 2, column) % 1'001) - 500;
  }
};

struct SpmvInputs {
  Input<std::uint32_t> offsets;
  Input<std::uint32_t> columns;
  Input<double> values;
  Input<double> x;
};

class Spmv : public Workload {
 public:
  Spmv(const Matrix& matrix, SpmvInputs inputs, DemandRegion y)
      : matrix_(matrix), in_(std::move(inputs)), y_(std::move(y)) {}

  Status run(Runtime& runtime) override {
    const SpmvKernel kernel{in_.offsets.data(), in_.columns.data(), in_.values.data(),
                            in_.x.data(),       y_.as<double>(),    matrix_.rows};
    return launch_kernel(runtime, shape_on(runtime), kernel, "spmv");
  }

  std::vector<double> answers() override {
    const auto* const y = y_.as<const double>();
    return {y, y + matrix_.rows};
  }

  std::vector<double> reference() override {
    std::vector<double> y(matrix_.rows, 0);
    for (std::uint32_t row = 0; row < matrix_.rows; ++row) {
      for (std::uint32_t which = matrix_.entries(row); which-- > 0;) {
        const std::uint64_t entry = matrix_.entry(row, which);
        y[row] += Matrix::value(entry) * matrix_.x(matrix_.column(entry));
      }
    }
    return y;
  }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {in_.offsets.region(), in_.columns.region(), in_.values.region(), in_.x.region(), &y_};
  }

 private:
  Matrix matrix_;
  SpmvInputs in_;
  DemandRegion y_;
};

Result<SpmvInputs> inputs_of(Runtime& runtime, const Matrix& matrix) {
  std::vector<std::uint32_t> offsets = {0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  std::vector<double> x;
  for (std::uint32_t row = 0; row < matrix.rows; ++row) {
    x.push_back(matrix.x(row));
    for (std::uint32_t which = 0; which < matrix.entries(row); ++which) {
      const std::uint64_t entry = matrix.entry(row, which);
      columns.push_back(matrix.column(entry));
      values.push_back(Matrix::value(entry));
    }
    offsets.push_back(static_cast<std::uint32_t>(columns.size()));
  }
  auto rows = Input<std::uint32_t>::create(runtime, std::move(offsets), "spmv rows");
  if (!rows) return rows.error();
  auto of_columns = Input<std::uint32_t>::create(runtime, std::move(columns), "spmv columns");
  if (!of_columns) return of_columns.error();
  auto of_values = Input<double>::create(runtime, std::move(values), "spmv values");
  if (!of_values) return of_values.error();
  auto vector = Input<double>::create(runtime, std::move(x), "spmv vector");
  if (!vector) return vector.error();
  return SpmvInputs{std::move(rows.value()), std::move(of_columns.value()),
                    std::move(of_values.value()), std::move(vector.value())};
}

}  // namespace

Result<std::unique_ptr<Workload>> make_spmv(Runtime& runtime, const Settings& settings) {
  const Matrix matrix{settings.by_scale<std::uint32_t>(4'000, 100'000, 1'000'000), settings.seed};
  auto inputs = inputs_of(runtime, matrix);
  if (!inputs) return inputs.error();
  auto y = zeros<double>(runtime, matrix.rows, "spmv product");
  if (!y) return y.error();
  return Result<std::unique_ptr<Workload>>(
      std::make_unique<Spmv>(matrix, std::move(inputs.value()), std::move(y.value())));
}

}  // namespace k2k::labs::generators
