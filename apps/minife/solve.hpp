#pragma once
// miniFE as one call: a file of a system in, residuals over the iterations out, by each of its
// ways.
//
// Threading: one thread; it starts a runtime.

#include <cstdint>
#include <vector>

#include "apps/common/phase_machine.hpp"
#include "apps/minife/kernel.hpp"
#include "apps/minife/matrix_file.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::minife {

enum class By : std::uint8_t {
  kernel,   // Three launches an iteration.
  threads,  // Of the host, by the kernels' code: Linux serves the faults of a mapped file.
  serial,   // One thread of the host, by another multiplication: half of the matrix. No device.
};

struct Settings {
  By by = By::kernel;
  apps::Mode mode = apps::Mode::demand;
  std::uint32_t iterations = 500;
  double tolerance = 1e-10;  // |residual| / |right-hand side| at which the iterations end.
  std::uint32_t groups = 0;  // 0: the default of the machine, as of the next two.
  std::uint32_t items = 0;
  std::uint32_t threads = 0;  // Of By::threads.
  bool keep_solution = false;
};

struct Outcome : apps::InputRun {
  std::vector<double> residuals;  // |r| / |b| after each iteration, as the iterations have it.
  bool converged = false;
  double true_residual = 0;      // |b - A x| / |b|
  double error = 0;              // The largest |x - exact|.
  std::uint64_t bits = 0;        // Over x; 0 for serial.
  std::vector<double> solution;  // If it was to be kept.
};

// Errors: as apps::PhaseMachine, launch() and InputMemory::create(); EINVAL (a page or a row that
// is wrong); EDOM (the matrix is not positive definite); EIO (the file became shorter). By threads,
// a mapped file that became shorter ends the process, with one line and status 1.
Result<Outcome> solve(const MatrixFile& file, const Settings& settings,
                      const RuntimeConfig& config);

// In serial.cpp. Errors: as apps::read_at(); EINVAL; EDOM.
Result<Outcome> solve_serially(const MatrixFile& file, const Settings& settings);

// EDOM: what `iteration` met.
Error not_definite(const MatrixFile& file, std::size_t iteration, double product);

}  // namespace k2k::minife
