#pragma once
// Chooses the pages to read ahead of a device, from the requests for a file. Only the rule: it does
// no I/O and uses no clock.
//
//                        mark                the reader enters it: the next window, larger
//   window    [==========|------------)[==========================)
//   requests  |===||===||===|                     each begins where one ended, or in the window
//
//   request      follows one, or    in the window,    in the window    above     anywhere
//                the file's start   before the mark   to the mark on   the limit  else
//   no window    opens one          -                 -                noted     noted
//   window       -                  nothing           pushes it on     closes it  noted: a stream
//                                                                                of its own
//
// Windows begin and grow as the kernel's do (mm/readahead.c, get_init_ra_size, get_next_ra_size). A
// request that is larger than the device's own read-ahead goes direct, as in SPIN (USENIX ATC'17,
// 4.3.2). A file is read by several streams: a work-group reads its part front to back.
//
// Threading: one owner an object; one object an open file.

#include <array>
#include <cstdint>

#include "io/file/page_range.hpp"

namespace k2k::router {

// The largest window for a stream, when it asks for the next: a third of what streams have left of
// the partition, with `unread` pages in it that somebody has still to read, his own among them. So
// a lone stream has B/4 when it has just entered a window: the one that is read, the one that
// comes, a request that began in the one before, and as much again; several share without being
// counted, and those that ended are forgotten with their pages. At least B/32, and a page.
std::uint64_t window_pages_max(std::uint64_t partition_pages, std::uint64_t unread);

struct ReadAheadAnswer {
  // Pages to read into the page cache now. The range may begin in or before the request; only those
  // pages are waited for. At most two windows.
  io::PageRange prefetch{};
  // True: uncached pages of the request come through the page cache, too. False: they come by the
  // fastest way.
  bool sequential = false;
  // The kernel reads ahead by itself, of a plain read: `prefetch` is what it may bring before this
  // says more, and `done` is what the stream has left behind since it last did. `due`: there is
  // time for on_done() when the request was served.
  bool by_kernel = false;
  bool due = false;
  io::PageRange done{};

  bool operator==(const ReadAheadAnswer&) const = default;
};

class ReadAhead {
 public:
  // posix_fadvise(2): `sequential` doubles the window, `random` switches read-ahead off.
  enum class Advice : std::uint8_t { normal, sequential, random };
  // Of a file; one more replaces the one longest without a request.
  static constexpr std::uint32_t streams_max = 8;

  // `device_pages`: the device's read_ahead_kb (read_ahead_setting.hpp). 0: off; no windows of
  // ours: off but for streams that are left to the kernel.
  // `kernel_step`: how many pages at a time it says what the kernel may bring, at least 1.
  ReadAhead(std::uint64_t device_pages, std::uint64_t window_pages_max,
            std::uint64_t kernel_step = 1);

  void set_advice(Advice advice);
  // For the windows to come.
  void set_window_max(std::uint64_t pages) { window_cap_ = pages; }
  // May streams that are due for a window be left to the kernel's own read-ahead? Those that are
  // stay so to their end. There must be room for kernel_pages() each.
  void set_by_kernel(bool by_kernel) { by_kernel_ = by_kernel; }
  // What a stream that is left to the kernel needs at most: two of the kernel's windows behind the
  // request, the request, two steps before them and one behind.
  [[nodiscard]] std::uint64_t kernel_pages() const;
  // After a request that was `due`: as on_read(), and nothing if another stream took its place.
  ReadAheadAnswer on_done(std::uint64_t offset, std::uint64_t bytes, std::uint64_t file_bytes);
  // The stream of the last request, which is the kernel's: up to here nothing is absent, so nothing
  // need be said of it.
  void skip_to(std::uint64_t page);

  // Called for each request as it arrives. `file_bytes` is the file's length: what lies beyond it
  // is not looked at. `cached`: all of the request is in the page cache, so there is no reason to
  // open a window.
  ReadAheadAnswer on_read(std::uint64_t offset, std::uint64_t bytes, std::uint64_t file_bytes,
                          bool cached);

  // Streams that have a window.
  [[nodiscard]] std::uint32_t streams() const;
  // The largest sequential request, in pages, that goes through the page cache.
  [[nodiscard]] std::uint64_t limit() const;

 private:
  struct Stream {
    bool used = false;
    std::uint64_t last_page = 0;  // The page in which the next byte to read lies.
    std::uint64_t back = 0;       // The first page of the window before.
    io::PageRange window;         // Ends with the file at the latest; no pages: none.
    std::uint64_t mark = 0;       // From window.end() on: none.
    std::uint64_t size = 0;       // What the window would be in an endless file.
    bool by_kernel = false;       // Who reads the window; it ends with what was announced.

    [[nodiscard]] bool has(std::uint64_t page) const {
      return !window.empty() && page >= back && page < window.end();
    }
    [[nodiscard]] bool continued_at(std::uint64_t page) const {
      return used && (has(page) || page - last_page <= 1);
    }
  };

  // The kernel's own.
  [[nodiscard]] std::uint64_t kernel_window() const;
  [[nodiscard]] std::uint64_t window_max() const;
  // The stream that a page continues, or a new one in the place of the oldest; first in streams_.
  Stream& stream_at(std::uint64_t page);
  [[nodiscard]] io::PageRange open(Stream& stream, io::PageRange request,
                                   std::uint64_t file_pages) const;
  // Advances the window until the request ends before its mark.
  [[nodiscard]] io::PageRange push(Stream& stream, io::PageRange request,
                                   std::uint64_t file_pages) const;
  // For a stream that is or will be left to Linux. `early`: one step before it is necessary.
  ReadAheadAnswer announce(Stream& stream, io::PageRange request, std::uint64_t file_pages,
                           bool early) const;

  std::uint64_t device_pages_;
  std::uint64_t window_cap_;
  std::uint64_t kernel_step_;
  bool by_kernel_ = false;
  Advice advice_ = Advice::normal;
  std::array<Stream, streams_max> streams_;  // The one asked for last first.
};

}  // namespace k2k::router
