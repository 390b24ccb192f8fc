#pragma once
// The kernels of k2k-display. All calls but those that read and write pixels are at kernel scope:
// one work-group makes the call for the launch. A call that gives data (open, ioctl, mmap) is made
// by the first group, and the others wait for its answer; a call that takes data (pan, munmap,
// close) is made by the last one, when every group has drawn its lines.
//
//   picture: open, fstat, pread, mmap ─▶ screen: open, ioctl …, mmap ─▶ lines ─▶ pan, munmap, close
//
// Every group gets the same answers, and the header is read once, so all groups take the same way.
//
// Threading: device code; every item of every group calls show_picture().

#include "apps/display/job.hpp"
#include "device/k2k.hpp"

namespace k2k::display {

// The places of the calls at kernel scope.
enum Site : std::uint32_t {
  at_open_picture,
  at_size_picture,
  at_read_head,
  at_map_picture,
  at_open_screen,
  at_ask_variable,
  at_set_variable,
  at_ask_again,
  at_ask_fixed,
  at_map_screen,
  at_open_terminal,
  at_ask_mode,
  at_set_mode,
  at_close_terminal,
  at_pan,
  at_unmap_screen,
  at_close_screen,
  at_unmap_picture,
  at_close_picture,
};

inline constexpr auto as_answer = k2k::relaxed | k2k::as_producer;
inline constexpr auto at_the_end = k2k::relaxed | k2k::as_consumer;

// Pixels of a screen's line that a group draws at a time if nothing is mapped.
inline constexpr std::uint32_t part_pixels = 512;

K2K_DEVICE inline void fail(const Job& job, Step step, std::int64_t answer) {
  if (k2k::AtomicRef(job.outcome->failures).fetch_add(1u) != 0) return;
  job.outcome->step = step;
  job.outcome->answer = answer;
}

// An answer that all groups have. Returns true if it is an error, which group 0 notes.
K2K_DEVICE inline bool failed(const Job& job, Step step, std::int64_t answer) {
  if (answer >= 0) return false;
  if (k2k::group_rank() == 0 && k2k::item_rank() == 0) fail(job, step, answer);
  return true;
}

struct Canvas {
  Picture picture;
  Screen screen;
  int picture_file;
  int screen_file;
  const unsigned char* pixels;  // The picture's file in memory; nullptr: not mapped.
  unsigned char* memory;        // The screen's.
};

K2K_DEVICE inline void draw_mapped(const Canvas& canvas) {
  for (std::uint32_t line = k2k::group_rank(); line < canvas.screen.height;
       line += k2k::group_count()) {
    draw_line(canvas.screen, canvas.picture, line, canvas.pixels, canvas.memory, k2k::item_rank(),
              k2k::group_size());
  }
}

// By reads and writes of the group: for devices that do not reach the host's pages.
K2K_DEVICE inline void draw_by_calls(const Job& job, const Canvas& canvas) {
  K2K_LOCAL(unsigned char[part_pixels * 4], pixels);
  K2K_LOCAL(unsigned char[part_pixels * 4], drawn);
  for (std::uint32_t line = k2k::group_rank(); line < canvas.screen.height;
       line += k2k::group_count()) {
    for (std::uint32_t begin = 0; begin < canvas.screen.width; begin += part_pixels) {
      const std::uint32_t left = canvas.screen.width - begin;
      const Part part{line, begin, left < part_pixels ? left : part_pixels};
      const Shown shown = shown_in(canvas.screen, canvas.picture, part);
      const std::uint32_t bytes = shown.count * (canvas.picture.bits / 8);
      if (bytes != 0) {
        const std::uint64_t from = canvas.picture.row_at(shown.row) +
                                   std::uint64_t{shown.begin} * (canvas.picture.bits / 8);
        const long came = k2k::pread(k2k::work_group, k2k::relaxed, canvas.picture_file, pixels,
                                     bytes, static_cast<std::int64_t>(from));
        if (came != static_cast<long>(bytes)) {
          if (k2k::item_rank() == 0) fail(job, Step::read_pixels, came);
          return;
        }
      }
      draw_part(canvas.screen, canvas.picture, part, shown, pixels, drawn, k2k::item_rank(),
                k2k::group_size());
      const std::uint64_t to =
          canvas.screen.line_at(line) + std::uint64_t{begin} * canvas.screen.pixel_bytes;
      const std::uint32_t length = part.count * canvas.screen.pixel_bytes;
      // Strong: the answer is for all items, and the buffer is used again after it.
      const long went = k2k::pwrite(k2k::work_group, canvas.screen_file, drawn, length,
                                    static_cast<std::int64_t>(to));
      if (went != static_cast<long>(length)) {
        if (k2k::item_rank() == 0) fail(job, Step::write_pixels, went);
        return;
      }
    }
  }
}

// So that no console draws on the screen meanwhile. Returns false if that failed.
K2K_DEVICE inline bool take_terminal(const Job& job) {
  if (job.terminal == nullptr) return true;
  const int terminal = k2k::open(k2k::kernel(at_open_terminal), k2k::relaxed, job.terminal,
                                 abi::o_rdwr | abi::o_noctty | abi::o_cloexec)
                           .fd();
  if (failed(job, Step::open_terminal, terminal)) return false;
  const long asked =
      k2k::ioctl(k2k::kernel(at_ask_mode), as_answer, terminal, abi::get_mode, &job.answers->mode);
  const bool unknown = failed(job, Step::ask_mode, asked);
  const long set = unknown
                       ? 0
                       : static_cast<long>(k2k::ioctl(k2k::kernel(at_set_mode), as_answer, terminal,
                                                      abi::set_mode, abi::mode_graphics));
  const bool refused = failed(job, Step::set_mode, set);
  k2k::close(k2k::kernel(at_close_terminal), k2k::relaxed, terminal);
  return !unknown && !refused;
}

// Asks for the screen's form, sets its offsets to 0, and asks again: a driver may have set another
// form than the wanted one. Returns false if that failed.
K2K_DEVICE inline bool set_up_screen(const Job& job, int file, Screen& screen) {
  if (job.plain) {
    screen = job.plain_screen;
    return true;
  }
  const long asked = k2k::ioctl(k2k::kernel(at_ask_variable), as_answer, file, abi::get_variable,
                                &job.answers->before);
  if (failed(job, Step::ask_variable, asked)) return false;
  K2K_LOCAL(abi::Variable, wanted);
  if (k2k::item_rank() == 0) {
    wanted = job.answers->before;
    wanted.x_offset = 0;
    wanted.y_offset = 0;
    wanted.activate = 0;
  }
  k2k::barrier();
  const long set =
      k2k::ioctl(k2k::kernel(at_set_variable), as_answer, file, abi::put_variable, &wanted);
  if (failed(job, Step::set_variable, set)) return false;
  const long again =
      k2k::ioctl(k2k::kernel(at_ask_again), as_answer, file, abi::get_variable, &job.answers->now);
  if (failed(job, Step::ask_again, again)) return false;
  const long fixed =
      k2k::ioctl(k2k::kernel(at_ask_fixed), as_answer, file, abi::get_fixed, &job.answers->fixed);
  if (failed(job, Step::ask_fixed, fixed)) return false;
  const ScreenFault fault = judge_screen(job.answers->fixed, job.answers->now, screen);
  if (fault == ScreenFault::none) return true;
  if (k2k::group_rank() == 0 && k2k::item_rank() == 0) {
    job.outcome->screen = screen;
    job.outcome->screen_fault = fault;
    fail(job, Step::judge_screen, 0);
  }
  return false;
}

K2K_DEVICE inline void draw_on(const Job& job, Canvas& canvas) {
  void* memory = nullptr;
  if (job.maps) {
    const k2k::Reply mapped =
        k2k::mmap(k2k::kernel(at_map_screen), k2k::relaxed, nullptr, canvas.screen.memory_bytes,
                  abi::prot_read | abi::prot_write, abi::map_shared, canvas.screen_file, 0);
    if (failed(job, Step::map_screen, mapped.value())) return;
    memory = mapped.address();
    canvas.memory = static_cast<unsigned char*>(memory);
  }
  if (take_terminal(job)) {
    if (job.maps) {
      draw_mapped(canvas);
    } else {
      draw_by_calls(job, canvas);
    }
    // A screen that does not move has nothing to pan.
    if (!job.plain && job.answers->fixed.y_pan_step != 0) {
      const long panned = k2k::ioctl(k2k::kernel(at_pan), at_the_end, canvas.screen_file,
                                     abi::pan_display, &job.answers->now);
      if (panned < 0 && panned != -k2k::error::in_progress) fail(job, Step::pan, panned);
    }
    if (k2k::group_rank() == 0 && k2k::item_rank() == 0) {
      job.outcome->picture = canvas.picture;
      job.outcome->screen = canvas.screen;
    }
  }
  if (memory != nullptr) {
    k2k::munmap(k2k::kernel(at_unmap_screen), k2k::relaxed, memory, canvas.screen.memory_bytes);
  }
}

// The picture is open and judged.
K2K_DEVICE inline void show_on_screen(const Job& job, Canvas& canvas) {
  canvas.screen_file = k2k::open(k2k::kernel(at_open_screen), k2k::relaxed, job.screen,
                                 abi::o_rdwr | abi::o_noctty | abi::o_nonblock | abi::o_cloexec)
                           .fd();
  if (failed(job, Step::open_screen, canvas.screen_file)) return;
  if (set_up_screen(job, canvas.screen_file, canvas.screen)) draw_on(job, canvas);
  k2k::close(k2k::kernel(at_close_screen), k2k::relaxed, canvas.screen_file);
}

// Returns false, with the fault noted, if the file is no picture.
K2K_DEVICE inline bool judge_file(const Job& job, int file, Picture& picture) {
  const long sized =
      k2k::fstat(k2k::kernel(at_size_picture), k2k::relaxed, file, &job.answers->status);
  if (failed(job, Step::size_picture, sized)) return false;
  const bool regular = (job.answers->status.mode & abi::mode_type) == abi::mode_regular;
  const long came = regular ? static_cast<long>(k2k::pread(k2k::kernel(at_read_head), k2k::relaxed,
                                                           file, job.answers->head, head_bytes, 0))
                            : 0;
  if (failed(job, Step::read_head, came)) return false;
  const PictureFault fault =
      regular ? judge_picture(job.answers->head, came,
                              static_cast<std::uint64_t>(job.answers->status.size), picture)
              : PictureFault::no_file;
  if (fault == PictureFault::none) return true;
  if (k2k::group_rank() == 0 && k2k::item_rank() == 0) {
    job.outcome->picture = picture;
    job.outcome->picture_fault = fault;
    fail(job, Step::judge_picture, job.answers->status.size);
  }
  return false;
}

K2K_DEVICE inline void show_picture(const Job& job) {
  Canvas canvas{};
  canvas.picture_file = k2k::open(k2k::kernel(at_open_picture), k2k::relaxed, job.picture,
                                  abi::o_rdonly | abi::o_noctty | abi::o_nonblock | abi::o_cloexec)
                            .fd();
  if (failed(job, Step::open_picture, canvas.picture_file)) return;
  if (judge_file(job, canvas.picture_file, canvas.picture)) {
    void* mapped = nullptr;
    bool ready = true;
    if (job.maps) {
      const k2k::Reply reply =
          k2k::mmap(k2k::kernel(at_map_picture), k2k::relaxed, nullptr, canvas.picture.named_bytes,
                    abi::prot_read, abi::map_private, canvas.picture_file, 0);
      ready = !failed(job, Step::map_picture, reply.value());
      if (ready) mapped = reply.address();
      canvas.pixels = static_cast<const unsigned char*>(mapped);
    }
    if (ready) show_on_screen(job, canvas);
    if (mapped != nullptr) {
      k2k::munmap(k2k::kernel(at_unmap_picture), k2k::relaxed, mapped, canvas.picture.named_bytes);
    }
  }
  k2k::close(k2k::kernel(at_close_picture), k2k::relaxed, canvas.picture_file);
}

// Gives the terminal the mode back that it had. One work-item.
K2K_DEVICE inline void give_terminal_back(const Job& job) {
  const int terminal =
      k2k::open(k2k::work_item, job.terminal, abi::o_rdwr | abi::o_noctty | abi::o_cloexec).fd();
  if (failed(job, Step::open_terminal, terminal)) return;
  const long set = k2k::ioctl(k2k::work_item, terminal, abi::set_mode,
                              static_cast<std::uint64_t>(job.answers->mode));
  failed(job, Step::set_mode, set);
  k2k::close(k2k::work_item, terminal);
}

// --- What Linux says of files: a work-item a path. The answers lie in device memory.

K2K_DEVICE inline void ask(const char* path, Facts& facts) {
  const int file = k2k::open(k2k::work_item, path,
                             abi::o_rdonly | abi::o_noctty | abi::o_nonblock | abi::o_cloexec)
                       .fd();
  facts.opened = file;
  if (file < 0) return;
  const long sized = k2k::fstat(k2k::work_item, file, &facts.status);
  if (sized < 0) {
    facts.opened = sized;
  } else if ((facts.status.mode & abi::mode_type) == abi::mode_block) {
    facts.replies[0] = k2k::ioctl(k2k::work_item, file, abi::get_bytes, &facts.bytes);
    facts.replies[1] = k2k::ioctl(k2k::work_item, file, abi::get_sector, &facts.sector);
    facts.replies[2] = k2k::ioctl(k2k::work_item, file, abi::get_read_only, &facts.read_only);
  } else {
    facts.replies[0] = k2k::ioctl(k2k::work_item, file, abi::get_window_size, &facts.window);
    facts.replies[1] = k2k::ioctl(k2k::work_item, file, abi::get_variable, &facts.variable);
    facts.replies[2] = k2k::ioctl(k2k::work_item, file, abi::get_fixed, &facts.fixed);
  }
  k2k::close(k2k::work_item, file);
}

K2K_DEVICE inline void ask_all(const Questions& questions) {
  for (std::uint32_t at = k2k::group_rank() * k2k::group_size() + k2k::item_rank();
       at < questions.count; at += k2k::group_count() * k2k::group_size()) {
    ask(questions.paths[at], questions.facts[at]);
  }
}

}  // namespace k2k::display
