#include "apps/display/messages.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace k2k::display {

namespace {

std::string about(const Picture& picture, PictureFault fault, std::int64_t file_bytes) {
  switch (fault) {
    case PictureFault::no_file:
      return "is no file; name a BMP file";
    case PictureFault::no_bmp:
      return "is no BMP file; convert the picture, as by `convert PICTURE BMP3:out.bmp`";
    case PictureFault::old_header:
      return "has a header of OS/2; save it as a BMP of Windows";
    case PictureFault::sides:
      return fmt::format("names {} by {} pixels; permitted are 1 to {} a side", picture.width,
                         picture.height, side_most);
    case PictureFault::planes:
      return "names other than one plane; save it anew";
    case PictureFault::depth:
      return fmt::format("has {} bits a pixel; 24 and 32 are supported: save it as such",
                         picture.bits);
    case PictureFault::compression:
      return fmt::format("is compressed or has masks (method {}); save it without (method 0)",
                         picture.compression);
    case PictureFault::size:
      return fmt::format("names {} bytes and has {}; the file is cut or damaged: save it anew",
                         picture.named_bytes, file_bytes);
    case PictureFault::pixels_start:
      return fmt::format("has its pixels at byte {}, within the header; save it anew",
                         picture.first);
    case PictureFault::pixels_end:
      return fmt::format("has {} bytes, too few for {} by {} pixels from byte {} on; save it anew",
                         file_bytes, picture.width, picture.height, picture.first);
    case PictureFault::none:
      break;
  }
  return "";
}

std::string about(const Screen& screen, ScreenFault fault) {
  switch (fault) {
    case ScreenFault::sides:
      return fmt::format("has {} by {} pixels; permitted are 1 to {} a side", screen.width,
                         screen.height, side_most);
    case ScreenFault::no_colours:
      return "has palettes, planes or gray; set a mode with true colours, as by fbset(1)";
    case ScreenFault::depth:
      return fmt::format("has {} bytes a pixel; set a mode of 16, 24 or 32 bits, as by fbset(1)",
                         screen.pixel_bytes);
    case ScreenFault::channels:
      return "has colours beyond its pixels; its driver is not supported";
    case ScreenFault::line:
      return fmt::format("has lines of {} bytes, too few for {} pixels; its driver is at fault",
                         screen.line_bytes, screen.width);
    case ScreenFault::memory:
      return fmt::format("has {} bytes of memory, too few for {} lines; its driver is at fault",
                         screen.memory_bytes, screen.height);
    case ScreenFault::none:
      break;
  }
  return "";
}

// The remedy of a screen that cannot be opened or asked.
std::string screen_remedy(int error) {
  if (error == ENOENT || error == ENODEV || error == ENXIO) {
    return "; Linux has no framebuffer here: load a driver (as efifb, vesafb, bochs), or draw into "
           "a "
           "plain file by --geometry WIDTHxHEIGHTxBITS";
  }
  if (error == ENOTTY || error == EINVAL) {
    return "; it is no framebuffer: name one (/dev/fb0), or give its form by --geometry";
  }
  if (error == EACCES || error == EPERM) return "; run as root, or as a member of group video";
  return "";
}

std::string call_text(const char* call, const std::string& path, int error) {
  return fmt::format("{}: {}: {}", path, call, std::strerror(error));
}

}  // namespace

Error error_of(const Outcome& outcome, const Settings& settings) {
  const int error = outcome.answer < 0 ? static_cast<int>(-outcome.answer) : EIO;
  const std::string& picture = settings.picture;
  const std::string& screen = settings.screen;
  switch (outcome.step) {
    case Step::open_picture:
      return {error, call_text("open", picture, error)};
    case Step::size_picture:
      return {error, call_text("fstat", picture, error)};
    case Step::read_head:
      return {error, call_text("pread", picture, error)};
    case Step::judge_picture:
      return {EINVAL,
              picture + " " + about(outcome.picture, outcome.picture_fault, outcome.answer)};
    case Step::map_picture:
      return {error, call_text("mmap", picture, error) + "; take --by write"};
    case Step::open_screen:
      return {error, call_text("open", screen, error) + screen_remedy(error)};
    case Step::ask_variable:
    case Step::ask_again:
      return {error, call_text("FBIOGET_VSCREENINFO", screen, error) + screen_remedy(error)};
    case Step::set_variable:
      return {error, call_text("FBIOPUT_VSCREENINFO", screen, error) + screen_remedy(error)};
    case Step::ask_fixed:
      return {error, call_text("FBIOGET_FSCREENINFO", screen, error) + screen_remedy(error)};
    case Step::judge_screen:
      return {EINVAL, screen + " " + about(outcome.screen, outcome.screen_fault)};
    case Step::map_screen:
      return {error, call_text("mmap", screen, error) + "; take --by write"};
    case Step::open_terminal:
      return {error, call_text("open", settings.terminal, error)};
    case Step::ask_mode:
      return {error, call_text("KDGETMODE", settings.terminal, error) +
                         "; name a console (/dev/tty0), or leave --terminal out"};
    case Step::set_mode:
      return {error, call_text("KDSETMODE", settings.terminal, error)};
    case Step::read_pixels:
      if (outcome.answer >= 0) return {EIO, picture + " became shorter while it was read"};
      return {error, call_text("pread", picture, error)};
    case Step::write_pixels:
      if (outcome.answer >= 0) return {EIO, screen + " took less than a line"};
      return {error, call_text("pwrite", screen, error)};
    case Step::pan:
      return {error, call_text("FBIOPAN_DISPLAY", screen, error)};
    case Step::none:
      break;
  }
  return {EIO, "the picture was not shown"};
}

}  // namespace k2k::display
