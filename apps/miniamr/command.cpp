// `k2k-miniamr`: options in, checksum and resident memory on standard output.

#include "apps/miniamr/command.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/common/core_shares.hpp"
#include "apps/miniamr/amr.hpp"
#include "apps/miniamr/memory_group.hpp"

namespace k2k::cli {

namespace {

struct MiniamrFlags {
  std::string by = "kernel";
  std::uint32_t watermark_mib = 0;
  std::uint32_t limit_mib = 0;
  miniamr::Settings settings;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-miniamr: {}\n", message);
  return status;
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string json_text(const miniamr::Outcome& outcome, const MiniamrFlags& flags) {
  const nlohmann::ordered_json object = {{"by", flags.by},
                                         {"checksum", fmt::format("{:016x}", outcome.checksum)},
                                         {"seconds", outcome.seconds},
                                         {"steps", flags.settings.steps},
                                         {"watermark_mib", flags.watermark_mib},
                                         {"returned_bytes", outcome.returned},
                                         {"failed_calls", outcome.failed},
                                         {"resident_begin_bytes", outcome.resident_begin},
                                         {"resident_bytes", outcome.resident}};
  return object.dump() + "\n";
}

std::string table_text(const miniamr::Outcome& outcome) {
  std::string text = fmt::format("checksum {:016x}\n{:.3f} s\n", outcome.checksum, outcome.seconds);
  if (outcome.resident.empty()) return text;
  const std::uint64_t most = *std::max_element(outcome.resident.begin(), outcome.resident.end());
  return text + fmt::format("at most {:.1f} MiB resident, {:.1f} MiB returned\n", mib(most),
                            mib(outcome.returned));
}

int simulate(const MiniamrFlags& flags, const Context& context) {
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  const auto outcome = miniamr::simulate(flags.settings, loaded.value().config);
  if (!outcome) return tell(outcome.error().message);
  return print(context.json ? json_text(*outcome, flags) : table_text(*outcome));
}

int run_miniamr(MiniamrFlags& flags, const Context& context) {
  flags.settings.by = flags.by == "serial"   ? miniamr::By::serial
                      : flags.by == "direct" ? miniamr::By::direct
                                             : miniamr::By::kernel;
  flags.settings.watermark = std::uint64_t{flags.watermark_mib} << 20;
  if (flags.limit_mib == 0) return simulate(flags, context);
  const auto group = miniamr::MemoryGroup::create(std::uint64_t{flags.limit_mib} << 20);
  if (!group) return tell(group.error().message);
  const auto status = group->run([&] { return simulate(flags, context); });
  if (!status) return tell(status.error().message);
  if (WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL) {
    return tell(fmt::format("killed by Linux at the limit of {} MiB; set --watermark below it",
                            flags.limit_mib));
  }
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : exit_failure;
}

Run add_miniamr(CommandLine& line, Context& context) {
  auto flags = std::make_shared<MiniamrFlags>();
  miniamr::Settings& settings = flags->settings;
  line.option("--by", flags->by, "Who makes the steps")
      .one_of({"kernel", "direct", "serial"})
      .show_default()
      .last_wins();
  line.option("--roots", settings.roots_a_side,
              "Roots a side of the cube; a root has 16 or 32 cells")
      .within(2, miniamr::roots_a_side_most)
      .show_default()
      .last_wins();
  line.option("--steps", settings.steps, "Steps of the launch")
      .within(1, 100'000)
      .show_default()
      .last_wins();
  line.option("--period", settings.period, "Steps of the sphere to and fro")
      .within(2, 100'000)
      .show_default()
      .last_wins();
  line.option("--watermark", flags->watermark_mib,
              "Resident memory in MiB above which unused blocks are returned; 0: never")
      .within(0, 1 << 20)
      .show_default()
      .last_wins();
  line.option("--limit", flags->limit_mib,
              "Run within a memory cgroup of this many MiB; 0: without one")
      .within(0, 1 << 20)
      .show_default()
      .last_wins();
  line.option("--items", settings.items, "Work-items of the work-group")
      .within(1, 1024)
      .last_wins();
  return [&context, flags] { return run_miniamr(*flags, context); };
}

}  // namespace

Command miniamr_command() {
  return {
      .name = "miniamr",
      .summary = "An adaptive stencil that returns memory from within its kernel",
      .description =
          "Makes the steps of a 3-D stencil in one launch. Between two steps the kernel refines "
          "the mesh where the surface of a moving sphere crosses it, and coarsens the rest; it "
          "reads its process's resident memory from /proc/self/statm by its own system calls, and "
          "above --watermark returns blocks that nobody needs by madvise(MADV_DONTNEED). Prints a "
          "checksum of all cells, which is that of --by serial. By direct: the same kernel, whose "
          "calls libc makes on its own thread.",
      .examples = {{"k2k-miniamr --json", "The resident memory at each step."},
                   {"k2k-miniamr --limit 100 --watermark 80", "Figure 3.11: ends within 100 MiB."},
                   {"k2k-miniamr --limit 100", "Figure 3.11: is killed."}},
      .exits = {{0, "All steps were made."},
                {1, "Linux killed the run at --limit, or the device could not be used."},
                {2, "An option is wrong."}},
      .has_json = true,
      .add = add_miniamr};
}

}  // namespace k2k::cli
