// k2k calibrate: measures a device's direct transfers and the page cache's copies, and stores the
// fitted model.

#include "router/profile/calibrate.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "cli/commands.hpp"
#include "cli/text_table.hpp"
#include "io/memory/cuda_memory.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;
using router::Deviation;
using router::Measurement;
using router::Profile;

constexpr Nanoseconds line_every = std::chrono::milliseconds(100);
constexpr std::size_t deviations_shown = 8;

struct Options {
  std::string path = ".";
  double seconds = std::chrono::duration<double>(router::calibrate_time_default).count();
  bool dry_run = false;
  std::string memory = "mapped";
};

// The target buffer of the reads, kept while they are measured.
struct Target {
  std::unique_ptr<io::DeviceMemory> memory{};
  std::shared_ptr<std::byte> bytes{};

  [[nodiscard]] router::CalibrateTarget asked() const { return {memory.get(), bytes.get(), {}}; }
};

Result<Target> target_of(const Options& options) {
  if (options.memory == "mapped") return Target();
  Result<std::unique_ptr<io::DeviceMemory>> memory = io::make_cuda_memory();
  if (!memory) return memory.error();
  Result<std::shared_ptr<std::byte>> bytes = io::allocate_cuda(router::calibrate_target_bytes);
  if (!bytes) return bytes.error();
  return Target{std::move(memory).value(), std::move(bytes).value()};
}

volatile std::sig_atomic_t stopped_by = 0;

// Ctrl-C and similar signals end the measurement in order: the progress line is erased; the file is
// unnamed, so it needs no removal.
class Stoppable {
 public:
  Stoppable() {
    struct sigaction action{};
    action.sa_handler = [](int number) { stopped_by = number; };
    sigemptyset(&action.sa_mask);
    for (std::size_t at = 0; at < std::size(numbers); ++at) {
      sigaction(numbers[at], nullptr, &before_[at]);
      // Signals that were ignored before (nohup) stay ignored.
      if (before_[at].sa_handler != SIG_IGN) sigaction(numbers[at], &action, nullptr);
    }
  }
  ~Stoppable() {
    for (std::size_t at = 0; at < std::size(numbers); ++at) {
      sigaction(numbers[at], &before_[at], nullptr);
    }
  }
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;

 private:
  static constexpr int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(numbers)] = {};
};

class ProgressLine {
 public:
  ProgressLine() : shown_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(double done, const char* what) {
    if (!shown_ || now() - last_ < line_every) return;
    last_ = now();
    fmt::print(stderr, "\r\x1b[K{} {:.0f} %", what, 100 * done);
    std::fflush(stderr);
  }

 private:
  bool shown_;
  Instant last_{};
};

Result<Measurement> measure(const std::string& folder, double seconds, const Target& target) {
  const Stoppable stoppable;
  ProgressLine line;
  stopped_by = 0;
  const auto longest = std::chrono::duration<double>(seconds);
  return router::measure(
      folder, std::chrono::duration_cast<Nanoseconds>(longest),
      [&](double done, const char* what) {
        line.show(done, what);
        return stopped_by == 0;
      },
      target.asked());
}

ordered_json describe(const Deviation& deviation) {
  return {{"way", deviation.direct ? "direct" : "cache"},
          {"bytes", deviation.point.bytes},
          {"us", deviation.point.us},
          {"model_us", deviation.model_us}};
}

std::uint32_t never_pages(const router::Model& model) {
  const Result<router::Costs> costs = router::costs_of(model);  // A fit always gives a valid model.
  return costs ? router::never_from_cache(costs.value()) : router::pages_max;
}

ordered_json as_json(const Profile& profile, const Measurement& measured, const std::string& path) {
  ordered_json all = ordered_json::parse(router::to_json(profile));
  all.erase("sum");
  all["never_from_cache_pages"] = never_pages(profile.fit.model);
  all["describes"] = profile.fit.describes();
  ordered_json deviations = ordered_json::array();
  for (const Deviation& each : profile.fit.deviations) deviations.push_back(describe(each));
  all["deviations"] = deviations;
  all["rounds"] = measured.rounds;
  all["file_bytes"] = measured.file_bytes;
  all["seconds"] = std::chrono::duration<double>(measured.took).count();
  all["stored"] = path.empty() ? ordered_json(nullptr) : ordered_json(path);
  return all;
}

std::string points_text(const Profile& profile, bool color) {
  const auto off = [](double model, double measured) {
    return fmt::format("{:+.1f} %", 100 * (model / measured - 1));
  };
  std::vector<std::vector<std::string>> rows = {
      {"size", "direct us", "model", "off", "cache us", "model", "off"}};
  for (std::size_t at = 0; at < profile.direct.size(); ++at) {
    const router::Point& direct = profile.direct[at];
    const router::Point& cache = profile.cache[at];
    const double direct_us = direct_bytes_us(profile.fit.model, direct.bytes);
    const double cache_us = cache_bytes_us(profile.fit.model, cache.bytes);
    rows.push_back({in_bytes(static_cast<std::size_t>(direct.bytes)),
                    fmt::format("{:.1f}", direct.us), fmt::format("{:.1f}", direct_us),
                    off(direct_us, direct.us), fmt::format("{:.1f}", cache.us),
                    fmt::format("{:.1f}", cache_us), off(cache_us, cache.us)});
  }
  return text_table(rows, color);
}

std::string deviations_text(const router::Fit& fit) {
  std::string text =
      "the model does not describe this device well; these points are more than 10 % off:\n";
  for (std::size_t at = 0; at < std::min(fit.deviations.size(), deviations_shown); ++at) {
    const Deviation& each = fit.deviations[at];
    text += fmt::format(
        "  {} {}: {:.1f} us, by the model {:.1f}\n", each.direct ? "direct" : "cache",
        in_bytes(static_cast<std::size_t>(each.point.bytes)), each.point.us, each.model_us);
  }
  if (fit.deviations.size() > deviations_shown) {
    text += fmt::format("  and {} more (--json)\n", fit.deviations.size() - deviations_shown);
  }
  return text +
         "measure again while no other program uses the device; if the result stays, plans are "
         "only as exact "
         "as this\n";
}

std::string calibration_text(const Profile& profile, const Measurement& measured,
                             const std::string& path, bool color) {
  const router::Identity& identity = profile.identity;
  const router::Model& model = profile.fit.model;
  const auto row = [](const char* name, const std::string& value) {
    return fmt::format("  {:<18}{}\n", name, value);
  };
  const std::string device =
      identity.device_model.empty()
          ? identity.device
          : fmt::format("{} ({}, {})", identity.device, identity.device_model,
                        in_bytes(identity.device_bytes));
  std::string heading =
      fmt::format("{} on {}, engine {}", identity.file_system, device, identity.engine);
  blank_control_characters(heading);
  std::string text = bold(heading, color) + "\n";
  const std::uint32_t never = never_pages(model);
  text += row("C", fmt::format("{:.1f} us", model.call_us));
  text += row("S", in_bytes(static_cast<std::size_t>(model.cutoff_bytes)));
  text += row("bandwidth direct", fmt::format("{:.3g} GB/s", model.direct_gbs));
  text += row("bandwidth cache", fmt::format("{:.3g} GB/s", model.cache_gbs));
  text +=
      row("next", fmt::format("{:.1f} us for each further transfer of a request", model.next_us));
  text += row("R^2", fmt::format("direct {:.4f}, cache {:.4f}", profile.fit.direct_r2,
                                 profile.fit.cache_r2));
  text += row("b*", never == router::pages_max
                        ? std::string("never: a cached run between uncached pages is never copied")
                        : fmt::format("{} pages ({}): shorter cached runs between uncached pages "
                                      "are not worth another transfer",
                                      never, in_bytes(std::size_t{never} * router::page_bytes)));
  text += row("measured", fmt::format("{} rounds in {:.1f} s, a file of {}", measured.rounds,
                                      std::chrono::duration<double>(measured.took).count(),
                                      in_bytes(measured.file_bytes)));
  text += row("stored", path.empty() ? std::string("nothing (--dry-run)") : path);
  text += points_text(profile, color);
  return profile.fit.describes() ? text : text + deviations_text(profile.fit);
}

// A file stands for its folder.
Result<std::string> folder_of(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) {
    return Error{
        errno, fmt::format("cannot calibrate {}: {}; name a folder on the device to measure", path,
                           std::strerror(errno))};
  }
  if (S_ISDIR(facts.st_mode)) return path;
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? std::string(".") : parent;
}

int calibrate(const Context& context, const Options& options) {
  const Result<std::string> folder = folder_of(options.path);
  if (!folder) return complain(folder.error().message);
  using std::chrono::duration;
  const double least = duration<double>(router::calibrate_time_min).count();
  const double most = duration<double>(router::calibrate_time_max).count();
  if (!(options.seconds >= least && options.seconds <= most)) {  // Also true for NaN.
    return complain(fmt::format("a calibration of {:g} s; permitted are {:g} to {:g}",
                                options.seconds, least, most),
                    exit_usage);
  }
  // Checked first, before the user waits for the measurement.
  Result<std::string> place = std::string();
  if (!options.dry_run) place = router::profile_folder();
  if (!place) return complain(place.error().message + ", or only measure: --dry-run");
  const Result<Target> target = target_of(options);
  if (!target) return complain(target.error().message);
  const Result<Measurement> measured = measure(folder.value(), options.seconds, target.value());
  if (!measured) {
    const bool stopped = measured.error().code == ECANCELED;
    if (stopped) return complain(measured.error().message, 128 + stopped_by);
    return complain(measured.error().message);
  }
  const Measurement& points = measured.value();
  const Result<router::Fit> fit = router::fit(points.direct, points.cache, points.together);
  if (!fit) return complain(folder.value() + ": " + fit.error().message);
  Profile profile;
  profile.identity = points.identity;
  profile.fit = fit.value();
  profile.direct = points.direct;
  profile.cache = points.cache;
  profile.made_s = std::time(nullptr);
  profile.version = K2K_VERSION;
  std::string path;
  if (!options.dry_run) {
    const Result<std::string> stored = router::store(place.value(), profile);
    if (!stored) return complain(stored.error().message);
    path = stored.value();
  }
  return print(context.json ? as_json(profile, points, path).dump() + "\n"
                            : calibration_text(profile, points, path, context.color));
}

}  // namespace

Command calibrate_command() {
  return {
      .name = "calibrate",
      .summary = "Measure a device for plans of file reads",
      .description =
          "Measures the times of direct transfers and of copies from the page cache on the file "
          "system "
          "of "
          "PATH, fits SPIN's cost model (USENIX ATC'17, equation 1) and keeps the result for this "
          "device, file system and engine. A file without a name of up to 256 MiB, at most a "
          "quarter "
          "of the free space, is written and read for some seconds; the file is removed "
          "afterwards. "
          "--memory cuda measures reads into a CUDA device's memory, by the engines that "
          "libk2k_io.so uses for it, and keeps a separate profile. "
          "'k2k route explain' tells which profile a file is planned with. Profiles lie in "
          "$XDG_STATE_HOME/k2k/io-profiles (~/.local/state/k2k/io-profiles); K2K_PROFILE_DIR names "
          "another folder.",
      .examples = {{"k2k calibrate /data", "Measure the disk below /data and keep the result."},
                   {"k2k calibrate --dry-run --json",
                    "Measure the current folder's; store nothing."}},
      .exits = {{130, "Ctrl-C: nothing was stored."}},
      .has_json = true,
      .add = [](CommandLine& line, Context& context) -> Run {
        auto options = std::make_shared<Options>();
        line.option("PATH", options->path, "A folder on the device (.)");
        line.option("--seconds", options->seconds, "Longest duration, 1 to 55 (20)").type("S");
        line.option("--memory", options->memory, "Read into: mapped, cuda (mapped)")
            .type("MEMORY")
            .one_of({"mapped", "cuda"});
        line.flag("--dry-run", options->dry_run, "Measure and print; store nothing");
        return [&context, options] { return calibrate(context, *options); };
      },
  };
}

}  // namespace k2k::cli
