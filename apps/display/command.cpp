// `k2k-display`: options in, a picture on a framebuffer.

#include "apps/display/command.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/common/core_shares.hpp"
#include "apps/common/interruption.hpp"
#include "apps/display/display.hpp"
#include "base/clock.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

struct DisplayFlags {
  std::string by = "map";
  std::string geometry;
  std::string generated;
  std::vector<std::string> paths;
  bool asks = false;
  std::uint32_t width = 640;
  std::uint32_t height = 400;
  std::uint64_t seed = 1;
  std::uint32_t seconds = 0;
  display::Settings settings;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-display: {}\n", message);
  return status;
}

std::string text_of(const display::Display& shown, const DisplayFlags& flags, bool json) {
  const display::Screen& screen = shown.screen;
  if (!json) {
    return fmt::format("shown: {} by {} pixels on {} ({} by {}, {} bits)\n", shown.picture.width,
                       shown.picture.height, shown.driver.empty() ? "a file" : shown.driver,
                       screen.width, screen.height, 8 * screen.pixel_bytes);
  }
  const ordered_json object = {
      {"by", flags.by},
      {"picture", {{"width", shown.picture.width}, {"height", shown.picture.height}}},
      {"screen",
       {{"driver", shown.driver},
        {"width", screen.width},
        {"height", screen.height},
        {"bits", 8 * screen.pixel_bytes},
        {"line_bytes", screen.line_bytes}}},
      {"seconds", shown.seconds}};
  return object.dump() + "\n";
}

int show(const DisplayFlags& flags, const RuntimeConfig& config, bool json) {
  int printed = exit_ok;
  const apps::Interruption interruption(nullptr);  // The terminal is given back first.
  const auto shown = display::show(flags.settings, config, [&](const display::Display& display) {
    // Before the wait: a program that waits for the picture reads this line.
    printed = print(text_of(display, flags, json));
    std::fflush(stdout);
    const Instant end = now() + std::chrono::seconds(flags.seconds);
    while (now() < end && apps::Interruption::signal() == 0) ::usleep(20'000);
  });
  if (!shown) return tell(shown.error().message);
  return printed;
}

std::string reply_text(std::int64_t reply) {
  return reply >= 0 ? "answered" : std::strerror(static_cast<int>(-reply));
}

ordered_json json_of(const std::string& path, const display::Facts& facts) {
  ordered_json object = {{"path", path}};
  if (facts.opened < 0) {
    object["error"] = reply_text(facts.opened);
    return object;
  }
  if (S_ISBLK(facts.status.mode)) {
    object["kind"] = "block device";
    if (facts.replies[0] >= 0) object["bytes"] = facts.bytes;
    if (facts.replies[1] >= 0) object["sector_bytes"] = facts.sector;
    if (facts.replies[2] >= 0) object["read_only"] = facts.read_only != 0;
  } else if (facts.replies[0] >= 0) {
    object["kind"] = "terminal";
    object["rows"] = facts.window.rows;
    object["columns"] = facts.window.columns;
  } else if (facts.replies[1] >= 0 && facts.replies[2] >= 0) {
    object["kind"] = "framebuffer";
    const char* const driver = facts.fixed.driver;
    object["driver"] = std::string(driver, ::strnlen(driver, sizeof(facts.fixed.driver)));
    object["width"] = facts.variable.width;
    object["height"] = facts.variable.height;
    object["bits"] = facts.variable.bits_per_pixel;
    object["line_bytes"] = facts.fixed.line_bytes;
  } else {
    object["error"] = "neither a terminal nor a block device nor a framebuffer";
  }
  return object;
}

int ask(const DisplayFlags& flags, const RuntimeConfig& config, bool json) {
  const auto facts = display::query(flags.paths, config);
  if (!facts) return tell(facts.error().message);
  int status = exit_ok;
  std::string text;
  for (std::size_t at = 0; at < flags.paths.size(); ++at) {
    const ordered_json object = json_of(flags.paths[at], (*facts)[at]);
    if (json) text += object.dump() + "\n";
    if (object.contains("error")) {
      status = tell(flags.paths[at] + ": " + object["error"].get<std::string>());
      continue;
    }
    if (json) continue;
    for (const auto& [name, value] : object.items()) {
      text += name == "path"
                  ? value.get<std::string>() + ":"
                  : fmt::format(" {} {}", name,
                                value.is_string() ? value.get<std::string>() : value.dump());
    }
    text += "\n";
  }
  const int printed = print(text);
  return printed != exit_ok ? printed : status;
}

int run_display(DisplayFlags& flags, const Context& context) {
  if (!flags.generated.empty()) {
    const Status made = display::generate(flags.generated, flags.width, flags.height, flags.seed);
    return made ? exit_ok : tell(made.error().message);
  }
  if (flags.paths.empty() || (flags.paths.size() > 1 && !flags.asks)) {
    return tell(flags.paths.empty()
                    ? "name a BMP file; --generate FILE makes one, and --query PATH... asks Linux"
                    : "name one BMP file, or ask Linux of several files with --query",
                exit_usage);
  }
  flags.settings.picture = flags.paths[0];
  if (!flags.geometry.empty()) {
    const auto geometry = display::geometry_of(flags.geometry);
    if (!geometry) return tell(geometry.error().message, exit_usage);
    flags.settings.geometry = *geometry;
  }
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  const RuntimeConfig& config = loaded.value().config;
  flags.settings.by = flags.by == "serial"    ? display::By::serial
                      : flags.by == "threads" ? display::By::threads
                      : flags.by == "write"   ? display::By::write
                                              : display::By::map;
  return flags.asks ? ask(flags, config, context.json) : show(flags, config, context.json);
}

Run add_display(CommandLine& line, Context& context) {
  auto flags = std::make_shared<DisplayFlags>();
  display::Settings& settings = flags->settings;
  line.option("PICTURE", flags->paths, "BMP file, uncompressed, 24 or 32 bits a pixel");
  line.option("--screen", settings.screen, "Framebuffer").type("PATH").show_default().last_wins();
  line.option("--terminal", settings.terminal,
              "Console to set to graphics meanwhile, so that its text does not cover the picture")
      .type("PATH")
      .last_wins();
  line.option("--seconds", flags->seconds, "How long the picture stays before the console's text")
      .within(0, 1 << 30)
      .show_default()
      .last_wins();
  line.option("--by", flags->by, "Who draws, and whether by mmap or by reads and writes")
      .one_of({"map", "write", "threads", "serial"})
      .show_default()
      .last_wins();
  line.option("--geometry", flags->geometry,
              "WIDTHxHEIGHTxBITS: --screen is a plain file of raw pixels")
      .last_wins();
  line.option("--groups", settings.groups, "Work-groups to launch").within(1, 4096).last_wins();
  line.option("--items", settings.items, "Work-items a group").within(1, 1024).last_wins();
  line.option("--threads", settings.threads, "Threads of --by threads; by default one a core")
      .within(1, 256)
      .last_wins();
  line.flag("--query", flags->asks,
            "Ask Linux of terminals, block devices and framebuffers, named instead of PICTURE");
  line.option("--generate", flags->generated, "Make a picture in this new file").type("FILE");
  line.option("--width", flags->width, "Of --generate")
      .within(1, display::side_most)
      .show_default();
  line.option("--height", flags->height, "Of --generate")
      .within(1, display::side_most)
      .show_default();
  line.option("--seed", flags->seed, "Of --generate: equal seeds make equal pictures")
      .show_default();
  return [&context, flags] { return run_display(*flags, context); };
}

}  // namespace

Command display_command() {
  return {
      .name = "display",
      .summary = "A picture on a framebuffer, by a kernel's own ioctl and mmap",
      .description =
          "The kernel opens PICTURE and the framebuffer, asks and sets the screen's form by ioctl, "
          "maps both and draws; all its calls are at kernel scope. By write: it reads the picture "
          "and writes the screen, for devices that do not reach the host's pages. By threads: "
          "threads of the host, by the kernel's code. By serial: one thread. With --query a kernel "
          "asks Linux of terminals (TIOCGWINSZ), block "
          "devices (BLKGETSIZE64, BLKSSZGET, BLKROGET) and framebuffers from device memory.",
      .examples = {{"k2k-display --generate picture.bmp", "Make a picture."},
                   {"k2k-display --terminal /dev/tty0 --seconds 10 picture.bmp",
                    "Show it for ten seconds, without the console's text."},
                   {"k2k-display --screen pixels --geometry 640x400x32 picture.bmp",
                    "Draw into a plain file."},
                   {"k2k-display --query /dev/tty /dev/loop0 /dev/fb0", "Ask Linux."}},
      .exits = {{0, "The picture was shown, or every question was answered."},
                {1, "The picture or the screen is wrong, or the device could not be used."},
                {2, "An option is wrong."}},
      .has_json = true,
      .add = add_display};
}

}  // namespace k2k::cli
