#include "apps/display/display.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "apps/common/device_blocks.hpp"
#include "apps/common/input_file.hpp"
#include "apps/common/input_memory.hpp"
#include "apps/display/messages.hpp"
#include "apps/display/serial.hpp"
#include "apps/display/terminal_guard.hpp"
#include "base/clock.hpp"
#include "base/cores.hpp"
#include "base/descriptor.hpp"

namespace k2k::display {

namespace {

constexpr std::uint32_t items_on_cpu = 4;
constexpr std::uint32_t items_on_gpu = 256;
constexpr std::uint32_t groups_a_unit = 4;

// A plain file of the geometry's size.
Status make_plain(const std::string& path, const Screen& screen) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  struct stat status{};
  if (!file.open() || ::fstat(file.number(), &status) != 0) {
    const int error = errno;
    return Error{error, fmt::format("{}: {}", path, std::strerror(error))};
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{EINVAL, path + " is no plain file; leave --geometry out for a framebuffer"};
  }
  if (!file_may_reach(screen.memory_bytes) ||
      ::ftruncate(file.number(), static_cast<off_t>(screen.memory_bytes)) != 0) {
    const int error = file_may_reach(screen.memory_bytes) ? errno : EFBIG;
    return Error{error, fmt::format("{}: cannot become {} bytes long: {}", path,
                                    screen.memory_bytes, std::strerror(error))};
  }
  return {};
}

Display display_of(const Job& job, double seconds) {
  Display display{job.outcome->picture, job.outcome->screen, {}, seconds};
  if (!job.plain) {
    const char* const driver = job.answers->fixed.driver;
    display.driver.assign(driver, ::strnlen(driver, sizeof(job.answers->fixed.driver)));
  }
  return display;
}

// The terminal was set to graphics.
bool took_terminal(const Job& job) {
  return job.terminal != nullptr &&
         (job.outcome->failures == 0 || job.outcome->step > Step::set_mode);
}

Job job_of(const Settings& settings) {
  Job job;
  job.maps = settings.by != By::write;
  if (settings.geometry) {
    job.plain = true;
    job.plain_screen =
        plain_screen(settings.geometry->width, settings.geometry->height, settings.geometry->bits);
  }
  return job;
}

// The line with which the process ends where a mapped file lost its pages.
std::string cut_text(const Settings& settings) {
  return fmt::format("k2k-display: {}{} became shorter while it was drawn; show it again\n",
                     settings.picture, settings.geometry ? " or " + settings.screen : "");
}

// By::threads and By::serial.
Result<Display> show_by_host(const Settings& settings,
                             const std::function<void(const Display&)>& shown) {
  Answers answers{};
  Outcome outcome;
  Job job = job_of(settings);
  job.picture = settings.picture.c_str();
  job.screen = settings.screen.c_str();
  if (!settings.terminal.empty()) job.terminal = settings.terminal.c_str();
  job.answers = &answers;
  job.outcome = &outcome;
  std::unique_ptr<apps::PartThreads> team;
  if (settings.by == By::threads) {
    auto made =
        apps::PartThreads::create(settings.threads != 0 ? settings.threads : usable_cores());
    if (!made) return made.error();
    team = std::move(made.value());
  }
  const Instant begin = now();
  show_on_host(job, team.get());
  const double seconds = seconds_since(begin);
  const Display display = display_of(job, seconds);
  if (outcome.failures == 0) shown(display);
  if (took_terminal(job)) {
    const Descriptor terminal(::open(job.terminal, O_RDWR | O_NOCTTY | O_CLOEXEC));
    ::ioctl(terminal.number(), abi::set_mode, static_cast<unsigned long>(answers.mode));
  }
  if (outcome.failures != 0) return error_of(outcome, settings);
  return display;
}

}  // namespace

Result<Geometry> geometry_of(const std::string& text) {
  Geometry geometry;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool right = true;
  for (std::uint32_t* const one : {&geometry.width, &geometry.height, &geometry.bits}) {
    const auto [next, error] = std::from_chars(at, end, *one);
    right &= error == std::errc{};
    at = next;
    if (one != &geometry.bits) right &= at != end && *at++ == 'x';
    if (!right) break;
  }
  right = right && at == end && geometry.width >= 1 && geometry.width <= side_most &&
          geometry.height >= 1 && geometry.height <= side_most &&
          (geometry.bits == 16 || geometry.bits == 24 || geometry.bits == 32);
  if (right) return geometry;
  return Error{EINVAL, fmt::format("--geometry is '{}'; it needs WIDTHxHEIGHTxBITS with sides of 1 "
                                   "to {} and 16, 24 or 32 bits, as 640x480x32",
                                   text, side_most)};
}

Result<Display> show(const Settings& settings, const RuntimeConfig& config,
                     const std::function<void(const Display&)>& shown) {
  Job job = job_of(settings);
  if (job.plain) {
    if (Status made = make_plain(settings.screen, job.plain_screen); !made) return made.error();
  }
  std::optional<TerminalGuard> guard;
  if (!settings.terminal.empty()) guard.emplace(settings.terminal);
  std::optional<apps::CutFileReport> report;
  if (job.maps) report.emplace(cut_text(settings));
  if (settings.by == By::serial || settings.by == By::threads) {
    const auto display = show_by_host(settings, shown);
    if (guard) guard->release();
    return display;
  }
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  const DeviceInfo& device = runtime->device();
  if (job.maps && !device.reaches_host_pages) {
    return Error{ENOTSUP, fmt::format("the device '{}' does not reach pages of mmap(2); take --by "
                                      "write, or set --backend cpu",
                                      device.name)};
  }
  apps::DeviceBlocks blocks(*runtime);
  const auto texts = apps::place_texts(
      *runtime, blocks, {settings.picture, settings.screen, settings.terminal}, false);
  const auto answers = blocks.on_device(sizeof(Answers));
  const auto outcome = blocks.shared(sizeof(Outcome));
  if (!texts) return texts.error();
  if (!answers) return answers.error();
  if (!outcome) return outcome.error();
  job.picture = (*texts)[0];
  job.screen = (*texts)[1];
  job.terminal = settings.terminal.empty() ? nullptr : (*texts)[2];
  job.answers = static_cast<Answers*>(*answers);
  job.outcome = new (*outcome) Outcome;
  const LaunchShape shape{
      settings.groups != 0 ? settings.groups : groups_a_unit * device.compute_units,
      settings.items != 0        ? settings.items
      : device.platform == "cpu" ? items_on_cpu
                                 : items_on_gpu};
  const Instant begin = now();
  const auto launched = launch(*runtime, shape, Kernel::show, job);
  const double seconds = seconds_since(begin);
  const Outcome seen = *job.outcome;
  Answers told;  // Device memory is copied: it may not be the host's.
  Status copied = runtime->copy(&told, job.answers, sizeof(told));
  Job host = job;
  host.answers = &told;
  Display display = display_of(host, seconds);
  if (launched && seen.failures == 0 && copied) shown(display);
  if (took_terminal(job)) {
    const auto given = launch(*runtime, {1, 1}, Kernel::give_back, job);
    if (!given) return given.error();
    if (guard && job.outcome->failures == seen.failures) guard->release();
  }
  if (!launched) return launched.error();
  if (seen.failures != 0) return error_of(seen, settings);
  if (!copied) return copied.error();
  if (job.outcome->failures != 0) return error_of(*job.outcome, settings);
  return display;
}

Result<std::vector<Facts>> query(const std::vector<std::string>& paths,
                                 const RuntimeConfig& config) {
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  apps::DeviceBlocks blocks(*runtime);
  const auto texts = apps::place_texts(*runtime, blocks, paths, false);
  if (!texts) return texts.error();
  std::vector<Facts> facts(paths.size());
  const auto memory = blocks.on_device(facts.size() * sizeof(Facts));
  if (!memory) return memory.error();
  const Questions questions{*texts, static_cast<Facts*>(*memory),
                            static_cast<std::uint32_t>(paths.size())};
  const auto report =
      launch_questions(*runtime, {1, questions.count < 64 ? questions.count : 64}, questions);
  if (!report) return report.error();
  if (Status copied = runtime->copy(facts.data(), *memory, facts.size() * sizeof(Facts)); !copied) {
    return copied.error();
  }
  return facts;
}

Status generate(const std::string& path, std::uint32_t width, std::uint32_t height,
                std::uint64_t seed) {
  const std::uint32_t row_bytes = (width * 24 + 31) / 32 * 4;
  std::vector<std::byte> pixels(std::size_t{row_bytes} * height);
  std::uint64_t state = seed;
  // Two gradients below noise: a picture that no two rows of have in common.
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      state = state * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
      std::byte* const pixel = pixels.data() + std::size_t{y} * row_bytes + std::size_t{x} * 3;
      pixel[0] = static_cast<std::byte>(state >> 56);
      pixel[1] = static_cast<std::byte>(y * 255 / height);
      pixel[2] = static_cast<std::byte>(x * 255 / width);
    }
  }
  std::vector<std::byte> head(head_bytes);
  const auto word = [&](std::size_t at, std::uint32_t value) {
    std::memcpy(head.data() + at, &value, sizeof(value));
  };
  head[0] = std::byte{'B'};
  head[1] = std::byte{'M'};
  word(2, static_cast<std::uint32_t>(head_bytes + pixels.size()));
  word(10, head_bytes);
  word(14, 40);
  word(18, width);
  word(22, height);
  word(26, 1 | 24 << 16);
  word(34, static_cast<std::uint32_t>(pixels.size()));
  return apps::write_new_file({path, head, pixels});
}

}  // namespace k2k::display
