// `k2k-minife`: options in, residuals and memory on standard output.

#include "apps/minife/command.hpp"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "apps/common/core_shares.hpp"
#include "apps/common/parts_options.hpp"
#include "apps/common/run_json.hpp"
#include "apps/minife/mesh.hpp"
#include "apps/minife/solve.hpp"

namespace k2k::cli {

namespace {

struct MinifeFlags {
  std::string file;
  std::string by = "kernel";
  std::string mode = "demand";
  std::string generated;
  minife::Mesh mesh;
  minife::Settings settings;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-minife: {}\n", message);
  return status;
}

std::string json_text(const minife::MatrixFile& file, const minife::Outcome& outcome,
                      const MinifeFlags& flags) {
  const nlohmann::ordered_json object = {
      {"by", flags.by},
      {"mode", flags.by == "serial" ? "read" : flags.mode},
      {"rows", file.header.rows},
      {"entries", file.header.entries},
      {"sorted", file.header.sorted != 0},
      {"iterations", outcome.residuals.size()},
      {"converged", outcome.converged},
      {"residual", outcome.residuals.empty() ? 0 : outcome.residuals.back()},
      {"true_residual", outcome.true_residual},
      {"error", outcome.error},
      {"bits", fmt::format("{:016x}", outcome.bits)},
      {"seconds", outcome.seconds},
      {"read_seconds", outcome.read_seconds},
      {"take_seconds", outcome.take_seconds},
      {"kernel_seconds", outcome.kernel_seconds},
      {"fault_requests", outcome.requests},
      {"demand_pages", outcome.pages},
      {"huge_bytes", outcome.huge_bytes},
      {"begin", apps::json_of(outcome.begin)},
      {"taken", apps::json_of(outcome.taken)},
      {"end", apps::json_of(outcome.end)},
      {"residuals", outcome.residuals}};
  return object.dump() + "\n";
}

std::string table_text(const minife::MatrixFile& file, const minife::Outcome& outcome) {
  std::string text = fmt::format("{} rows, {} entries\n", file.header.rows, file.header.entries);
  text += fmt::format("{} iterations, residual {:.2e}, error {:.2e}\n", outcome.residuals.size(),
                      outcome.true_residual, outcome.error);
  return text + apps::text_of(outcome);
}

int generate(const MinifeFlags& flags) try {
  const Status made = minife::generate(flags.generated, flags.mesh);
  return made ? exit_ok : tell(made.error().message);
} catch (const std::bad_alloc&) {
  return tell(
      fmt::format("no memory for {} elements a side; take fewer --elements", flags.mesh.elements));
}

int solve(MinifeFlags& flags, const Context& context) {
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  const auto file = minife::open_matrix(flags.file);
  if (!file) return tell(file.error().message);
  flags.settings.by = flags.by == "serial"    ? minife::By::serial
                      : flags.by == "threads" ? minife::By::threads
                                              : minife::By::kernel;
  flags.settings.mode = apps::mode_of(flags.mode);
  const auto outcome = minife::solve(*file, flags.settings, loaded.value().config);
  if (!outcome) return tell(outcome.error().message);
  const int printed =
      print(context.json ? json_text(*file, *outcome, flags) : table_text(*file, *outcome));
  if (printed != exit_ok || outcome->converged) return printed;
  return tell(
      fmt::format("{}: not solved in {} iterations; allow more with --iterations, or a "
                  "larger --tolerance",
                  flags.file, outcome->residuals.size()));
}

int run_minife(MinifeFlags& flags, const Context& context) {
  if (!flags.generated.empty()) {
    if (flags.file.empty()) return generate(flags);
    return tell("--generate makes files and computes nothing; leave out FILE", exit_usage);
  }
  if (flags.file.empty()) {
    return tell("name a FILE of a matrix; --generate FOLDER makes two", exit_usage);
  }
  const double tolerance = flags.settings.tolerance;
  if (!(tolerance >= 1e-15 && tolerance < 1)) {
    return tell(fmt::format("--tolerance {}; permitted are 1e-15 to 1", tolerance), exit_usage);
  }
  return solve(flags, context);
}

Run add_minife(CommandLine& line, Context& context) {
  auto flags = std::make_shared<MinifeFlags>();
  minife::Settings& settings = flags->settings;
  line.option("FILE", flags->file, "File of a matrix that --generate made");
  line.option(
          "--by", flags->by,
          "Who computes: a kernel; threads of the host by the same code, without a device; or one "
          "thread by another method")
      .one_of({"kernel", "threads", "serial"})
      .show_default()
      .last_wins();
  line.option(
          "--mode", flags->mode,
          "When the matrix comes into memory: at the first access (demand), or before the launch "
          "(pinned: pages of 4 KiB; huge: of 2 MiB). Not of --by serial")
      .one_of(apps::mode_words())
      .show_default()
      .last_wins();
  line.option("--iterations", settings.iterations, "The largest number of iterations")
      .within(1, 1'000'000)
      .show_default()
      .last_wins();
  line.option(
          "--tolerance", settings.tolerance,
          "The iterations end when the residual is shorter than this part of the right-hand side; "
          "1e-15 to 1")
      .show_default()
      .last_wins();
  add_parts_options(line, settings);
  line.option("--generate", flags->generated,
              "Make this new folder, with the same system in the files sorted and unsorted, and "
              "compute "
              "nothing")
      .type("FOLDER");
  line.option("--elements", flags->mesh.elements, "Of --generate: elements of the mesh a side")
      .within(2, 256)
      .show_default();
  line.option("--seed", flags->mesh.seed,
              "Of --generate: seed of the unsorted order; equal seeds make equal files")
      .show_default();
  return [&context, flags] { return run_minife(*flags, context); };
}

}  // namespace

Command minife_command() {
  return {
      .name = "minife",
      .summary = "Conjugate gradients on a matrix of a mapped file",
      .description =
          "Solves the system of FILE by conjugate gradients in kernels: Poisson's equation in a "
          "cube, on a mesh of hexahedra, with up to 27 entries a row. The matrix lies in memory "
          "whose pages come from FILE when a kernel first touches them, or that was read before "
          "the launch. Prints the residual, the error of the solution, times, page faults and "
          "resident memory.",
      .examples = {{"k2k-minife --generate in", "Make in/sorted and in/unsorted: 12,167 rows."},
                   {"k2k-minife in/sorted", "Solve it; each page comes at its first access."},
                   {"k2k-minife --mode huge in/unsorted", "The same from pages of 2 MiB."},
                   {"k2k-minife --by serial in/sorted", "The same by one thread of the host."}},
      .exits = {{0, "The residual is below --tolerance."},
                {1, "It is not, the file is wrong, or the device could not be used."},
                {2, "An option is wrong."}},
      .has_json = true,
      .add = add_minife};
}

}  // namespace k2k::cli
