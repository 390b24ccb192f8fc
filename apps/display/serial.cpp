#include "apps/display/serial.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.hpp"

namespace k2k::display {

namespace {

bool fail(const Job& job, Step step) {
  job.outcome->failures = 1;
  job.outcome->step = step;
  job.outcome->answer = -errno;
  return false;
}

class Mapping {
 public:
  Mapping(std::size_t bytes, int protection, int flags, int file)
      : memory_(::mmap(nullptr, bytes, protection, flags, file, 0)), bytes_(bytes) {}
  ~Mapping() {
    if (ok()) ::munmap(memory_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] bool ok() const { return memory_ != MAP_FAILED; }
  [[nodiscard]] unsigned char* bytes() const { return static_cast<unsigned char*>(memory_); }

 private:
  void* memory_;
  std::size_t bytes_;
};

bool judge_file(const Job& job, int file, Picture& picture) {
  static_assert(sizeof(struct stat) == sizeof(abi::Stat));
  if (::fstat(file, reinterpret_cast<struct stat*>(&job.answers->status)) != 0) {
    return fail(job, Step::size_picture);
  }
  const std::int64_t bytes = job.answers->status.size;
  PictureFault fault = PictureFault::no_file;
  if (S_ISREG(job.answers->status.mode)) {
    const ssize_t came = ::pread(file, job.answers->head, head_bytes, 0);
    if (came < 0) return fail(job, Step::read_head);
    fault = judge_picture(job.answers->head, came, static_cast<std::uint64_t>(bytes), picture);
  }
  job.outcome->picture = picture;
  job.outcome->picture_fault = fault;
  if (fault == PictureFault::none) return true;
  fail(job, Step::judge_picture);
  job.outcome->answer = bytes;
  return false;
}

bool ask_screen(const Job& job, int file, Screen& screen) {
  if (job.plain) {
    screen = job.plain_screen;
    return true;
  }
  if (::ioctl(file, abi::get_variable, &job.answers->before) != 0) {
    return fail(job, Step::ask_variable);
  }
  job.answers->now = job.answers->before;
  job.answers->now.x_offset = job.answers->now.y_offset = job.answers->now.activate = 0;
  if (::ioctl(file, abi::put_variable, &job.answers->now) != 0) {
    return fail(job, Step::set_variable);
  }
  if (::ioctl(file, abi::get_fixed, &job.answers->fixed) != 0) return fail(job, Step::ask_fixed);
  const ScreenFault fault = judge_screen(job.answers->fixed, job.answers->now, screen);
  job.outcome->screen_fault = fault;
  job.outcome->screen = screen;
  return fault == ScreenFault::none || fail(job, Step::judge_screen);
}

bool take_terminal(const Job& job) {
  if (job.terminal == nullptr) return true;
  const Descriptor terminal(::open(job.terminal, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.open()) return fail(job, Step::open_terminal);
  if (::ioctl(terminal.number(), abi::get_mode, &job.answers->mode) != 0) {
    return fail(job, Step::ask_mode);
  }
  return ::ioctl(terminal.number(), abi::set_mode, abi::mode_graphics) == 0 ||
         fail(job, Step::set_mode);
}

// A line a part, by the kernel's code.
void draw_by_threads(const Screen& screen, const Picture& picture, const unsigned char* file,
                     unsigned char* memory, apps::PartThreads& threads) {
  threads.run(screen.height,
              [&](std::uint32_t line) { draw_line(screen, picture, line, file, memory, 0, 1); });
}

void draw(const Screen& screen, const Picture& picture, const unsigned char* file,
          unsigned char* memory) {
  const std::int32_t left = -first_shown(screen.width, picture.width);
  const std::int32_t top = -first_shown(screen.height, picture.height);
  for (std::uint32_t y = 0; y < screen.height; ++y) {
    for (std::uint32_t x = 0; x < screen.width; ++x) {
      const std::int64_t column = static_cast<std::int64_t>(x) - left;
      const std::int64_t row = static_cast<std::int64_t>(y) - top;
      const bool inside = column >= 0 && column < picture.width && row >= 0 && row < picture.height;
      const std::uint32_t colour =
          inside ? colour_of(file + picture.row_at(static_cast<std::uint32_t>(row)) +
                                 static_cast<std::uint64_t>(column) * (picture.bits / 8),
                             screen)
                 : 0;
      store_pixel(memory + screen.line_at(y) + std::size_t{x} * screen.pixel_bytes, colour,
                  screen.pixel_bytes);
    }
  }
}

bool show_on(const Job& job, int picture_file, const Picture& picture, apps::PartThreads* threads) {
  const Descriptor file(::open(job.screen, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!file.open()) return fail(job, Step::open_screen);
  Screen screen;
  if (!ask_screen(job, file.number(), screen)) return false;
  job.outcome->screen = screen;
  const Mapping pixels(picture.named_bytes, PROT_READ, MAP_PRIVATE, picture_file);
  if (!pixels.ok()) return fail(job, Step::map_picture);
  const Mapping memory(screen.memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number());
  if (!memory.ok()) return fail(job, Step::map_screen);
  if (!take_terminal(job)) return false;
  if (threads == nullptr) {
    draw(screen, picture, pixels.bytes(), memory.bytes());
  } else {
    draw_by_threads(screen, picture, pixels.bytes(), memory.bytes(), *threads);
  }
  return job.plain || job.answers->fixed.y_pan_step == 0 ||
         ::ioctl(file.number(), abi::pan_display, &job.answers->now) == 0 || fail(job, Step::pan);
}

}  // namespace

void show_on_host(const Job& job, apps::PartThreads* threads) {
  const Descriptor file(::open(job.picture, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!file.open()) {
    fail(job, Step::open_picture);
    return;
  }
  Picture picture;
  if (judge_file(job, file.number(), picture)) show_on(job, file.number(), picture, threads);
}

}  // namespace k2k::display
