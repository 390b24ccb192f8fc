#pragma once
// The data of the launches of k2k-display: plain data that host and kernel share.
//
// Threading: values.

#include <cstdint>

#include "apps/display/abi.hpp"
#include "apps/display/picture.hpp"
#include "apps/display/screen.hpp"

namespace k2k::display {

// The calls that may fail, in the order of the kernel.
enum class Step : std::uint8_t {
  none,
  open_picture,
  size_picture,
  read_head,
  judge_picture,
  map_picture,
  open_screen,
  ask_variable,
  set_variable,
  ask_again,
  ask_fixed,
  judge_screen,
  map_screen,
  open_terminal,
  ask_mode,
  set_mode,
  read_pixels,
  write_pixels,
  pan,
};

// The answers of Linux: device memory, where the requests of ioctl are copied from and to.
struct Answers {
  unsigned char head[64];
  abi::Stat status;
  abi::Variable before;
  abi::Variable now;
  abi::Fixed fixed;
  std::int32_t mode;  // The terminal's, before.
};

// Shared memory. The first failure counts.
struct Outcome {
  std::uint32_t failures = 0;
  Step step = Step::none;
  PictureFault picture_fault = PictureFault::none;
  ScreenFault screen_fault = ScreenFault::none;
  std::int64_t answer = 0;  // A negative errno, or how many bytes came.
  Picture picture;
  Screen screen;
};

struct Job {
  const char* picture = nullptr;  // Paths, where the host reads them, too.
  const char* screen = nullptr;
  const char* terminal = nullptr;  // nullptr: none is set to graphics.
  Answers* answers = nullptr;
  Outcome* outcome = nullptr;
  bool maps = true;    // Picture and screen are mapped; otherwise read and written.
  bool plain = false;  // The screen is a plain file: nothing is asked, it is `plain_screen`.
  Screen plain_screen;
};

// --- The second kernel: what Linux says of files.

struct Facts {
  std::int64_t opened = 0;  // A negative errno, or a descriptor.
  abi::Stat status;
  std::int64_t replies[3] = {};  // Of the requests of its kind.
  abi::WindowSize window;
  abi::Variable variable;
  abi::Fixed fixed;
  std::uint64_t bytes = 0;
  std::int32_t sector = 0;
  std::int32_t read_only = 0;
};

struct Questions {
  const char* const* paths = nullptr;
  Facts* facts = nullptr;  // Device memory, one a path.
  std::uint32_t count = 0;
};

}  // namespace k2k::display
