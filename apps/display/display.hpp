#pragma once
// k2k-display as calls: a picture on a framebuffer, what Linux says of files, and new pictures.
//
// Threading: one thread; they start a runtime.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/display/kernel.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::display {

enum class By : std::uint8_t {
  map,      // The kernel maps picture and screen: a device that reaches the host's pages.
  write,    // The kernel reads the picture and writes the screen by calls: any device.
  threads,  // Threads of the host map both, and draw by the kernel's code. No device.
  serial,   // One thread of the host maps both, and draws by a loop of its own. No device.
};

// A plain file as screen.
struct Geometry {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t bits = 0;  // 16, 24 or 32.
};
// "640x480x32". Errors: EINVAL.
Result<Geometry> geometry_of(const std::string& text);

struct Settings {
  By by = By::map;
  std::string picture;
  std::string screen = "/dev/fb0";
  std::string terminal;              // Is set to graphics meanwhile; empty: none.
  std::optional<Geometry> geometry;  // The screen is a plain file, made if it is missing.
  std::uint32_t groups = 0;          // 0: the device's default.
  std::uint32_t items = 0;
  std::uint32_t threads = 0;  // Of By::threads; 0: one a core.
};

struct Display {
  Picture picture;
  Screen screen;
  std::string driver;  // Empty for a plain file.
  double seconds = 0;  // From the launch to its end, or of the thread's work.
};

// Shows the picture, calls `shown`, and gives the terminal back once that returns. Errors: as
// Runtime::create() and launch(); the errno of a call that failed, with the file and the remedy;
// EINVAL (a file that is no such picture, a screen without colours); EIO (a file that became
// shorter, By::write); EAGAIN (no thread); ENOTSUP (By::map on a device that does not reach the
// host's pages). A mapped file that became shorter ends the process, with one line and status 1. If
// the process dies meanwhile, a child of it gives the terminal back (terminal_guard.hpp).
Result<Display> show(const Settings& settings, const RuntimeConfig& config,
                     const std::function<void(const Display&)>& shown);

// What the kernel was told of each path: terminals, block devices and framebuffers. Errors: as
// Runtime::create() and launch().
Result<std::vector<Facts>> query(const std::vector<std::string>& paths,
                                 const RuntimeConfig& config);

// A picture of `seed` in a file that is not there yet: 24 bits a pixel. Expects sides of 1 to
// side_most. Errors: as apps::write_new_file().
Status generate(const std::string& path, std::uint32_t width, std::uint32_t height,
                std::uint64_t seed);

}  // namespace k2k::display
