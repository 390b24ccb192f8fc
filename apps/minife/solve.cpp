#include "apps/minife/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <utility>

#include "apps/common/phase_machine.hpp"
#include "base/clock.hpp"

namespace k2k::minife {

namespace {

// A run of the kernels on a file: its memory, its launches, and what it found.
class Solver {
 public:
  Solver(apps::PhaseMachine& machine, const MatrixFile& file, const Settings& settings)
      : machine_(machine), file_(file), settings_(settings) {}

  Status prepare() {
    auto memory =
        machine_.take_input(file_, settings_.mode, apps::Use::read, "matrix", "k2k-minife");
    if (!memory) return memory.error();
    memory_.emplace(std::move(memory.value()));
    job_.matrix = {file_.layout, memory_->as<const std::byte>()};
    const std::size_t vector_bytes = file_.layout.rows * sizeof(double);
    const auto vectors = machine_.allocate(4 * vector_bytes);
    const auto checks = machine_.allocate(file_.checks.size() * sizeof(std::uint64_t));
    const auto wrong = machine_.allocate(sizeof(std::uint64_t));
    const auto partial = machine_.allocate_shared(job_.blocks() * sizeof(Partial));
    for (const auto* const each : {&vectors, &checks, &wrong, &partial}) {
      if (!*each) return each->error();
    }
    job_.solution = static_cast<double*>(*vectors);
    job_.residual = job_.solution + file_.layout.rows;
    job_.direction = job_.residual + file_.layout.rows;
    job_.image = job_.direction + file_.layout.rows;
    job_.checks = static_cast<const std::uint64_t*>(*checks);
    job_.wrong = static_cast<std::uint64_t*>(*wrong);
    job_.partial = static_cast<Partial*>(*partial);
    if (Status copied = machine_.copy(*checks, file_.checks.data(),
                                      file_.checks.size() * sizeof(std::uint64_t));
        !copied) {
      return copied;
    }
    return machine_.copy(job_.wrong, &no_wrong, sizeof(no_wrong));
  }

  Status run(Outcome& outcome) {
    if (Status taken = launch_and_judge(Phase::take, outcome); !taken) return taken;
    apps::note_taken(outcome);
    if (Status judged = launch_and_judge(Phase::judge, outcome); !judged) return judged;
    if (Status done = iterate(outcome); !done) return done;
    machine_.note_end(outcome, *memory_);
    if (!settings_.keep_solution) return {};
    outcome.solution.resize(file_.layout.rows);
    return machine_.copy(outcome.solution.data(), job_.solution,
                         file_.layout.rows * sizeof(double));
  }

 private:
  Status iterate(Outcome& outcome) {
    if (Status begun = launch(Phase::begin, 0, outcome); !begun) return begun;
    const double begin = product();
    double square = begin;
    outcome.converged = square == 0;  // The solution is 0.
    while (!outcome.converged && outcome.residuals.size() < settings_.iterations) {
      if (Status done = launch(Phase::multiply, 0, outcome); !done) return done;
      const double bend = product();
      if (!(bend > 0)) return not_definite(file_, outcome.residuals.size() + 1, bend);
      if (Status done = launch(Phase::advance, square / bend, outcome); !done) return done;
      const double before = std::exchange(square, product());
      outcome.residuals.push_back(std::sqrt(square / begin));
      outcome.converged = outcome.residuals.back() <= settings_.tolerance;
      if (outcome.converged) break;
      if (Status done = launch(Phase::turn, square / before, outcome); !done) return done;
    }
    if (Status done = launch(Phase::measure, 0, outcome); !done) return done;
    outcome.true_residual = begin > 0 ? std::sqrt(product() / begin) : 0;
    for (std::uint64_t block = 0; block < job_.blocks(); ++block) {
      outcome.error = std::max(outcome.error, job_.partial[block].error);
      outcome.bits += job_.partial[block].bits;
    }
    return {};
  }

  Status launch(Phase phase, double factor, Outcome& outcome) {
    return machine_.make_phase(
        file_, outcome,
        [&](Runtime& runtime, const LaunchShape& shape) {
          return launch_phase(runtime, shape, phase, factor, job_);
        },
        [&](const Share& share) { make_share(phase, share, factor, job_); });
  }

  Status launch_and_judge(Phase phase, Outcome& outcome) {
    if (Status done = launch(phase, 0, outcome); !done) return done;
    std::uint64_t word = no_wrong;
    if (Status copied = machine_.copy(&word, job_.wrong, sizeof(word)); !copied) return copied;
    if (word == no_wrong) return {};
    if (Status whole = apps::still_whole(file_); !whole) return whole;
    return wrong_place(file_, static_cast<Wrong>(word & 0xff), word >> 8);
  }

  [[nodiscard]] double product() const {
    double sum = 0;
    for (std::uint64_t block = 0; block < job_.blocks(); ++block) {
      sum += job_.partial[block].product;
    }
    return sum;
  }

  apps::PhaseMachine& machine_;
  const MatrixFile& file_;
  const Settings& settings_;
  std::optional<apps::InputMemory> memory_;
  Job job_;
};

}  // namespace

Error not_definite(const MatrixFile& file, std::size_t iteration, double product) {
  return Error{EDOM, fmt::format("{}: iteration {}: p A p is {}, so the matrix is not positive "
                                 "definite; {}",
                                 file.path, iteration, product, apps::make_anew)};
}

Result<Outcome> solve(const MatrixFile& file, const Settings& settings,
                      const RuntimeConfig& config) {
  if (settings.by == By::serial) return solve_serially(file, settings);
  Outcome outcome;
  outcome.begin = apps::process_memory_now();
  const Instant begin = now();
  const apps::PhaseParts parts = {settings.groups, settings.items, settings.threads};
  const auto machine = settings.by == By::threads ? apps::PhaseMachine::of_threads(parts)
                                                  : apps::PhaseMachine::of_device(config, parts);
  if (!machine) return machine.error();
  Solver solver(**machine, file, settings);
  if (Status ready = solver.prepare(); !ready) return ready.error();
  outcome.read_seconds = seconds_since(begin);
  if (Status done = solver.run(outcome); !done) return done.error();
  outcome.seconds = seconds_since(begin);
  return outcome;
}

}  // namespace k2k::minife
