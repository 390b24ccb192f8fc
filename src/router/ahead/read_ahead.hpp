#pragma once
// Chooses the pages to read ahead of a device, from the requests for a file. It is only the rule:
// no I/O and no clock.
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
// Windows begin and grow as Linux' do (mm/readahead.c, get_init_ra_size, get_next_ra_size). A
// request that is larger than the device's own read-ahead is read directly, as in SPIN (USENIX
// ATC'17, 4.3.2). A file may have several streams: each work-group reads its part front to back.
//
// Threading: one owner an object; one object an open file.

#include <array>
#include <cstdint>

#include "io/file/page_range.hpp"

namespace k2k::router {

// The largest window for a stream that requests the next one: a third of the partition's rest. The
// rest excludes the `unread` pages that streams have still to read, including this stream's. So a
// single stream gets B/4 when it has just entered a window: one part is the current window, one the
// next, one the previous window with a request that began there, and one is reserve. Several
// streams share without being counted, and ended streams are forgotten with their pages. At least
// B/32, and a page.
std::uint64_t window_pages_max(std::uint64_t partition_pages, std::uint64_t unread);

struct ReadAheadAnswer {
  // Pages to read into the page cache now. The range may begin in or before the request; the caller
  // waits only for pages of the request. At most two windows.
  io::PageRange prefetch{};
  // True: uncached pages of the request also come through the page cache. False: they come by the
  // fastest path.
  bool sequential = false;
  // Linux reads ahead by itself, from a plain read: `prefetch` is the range that it may read before
  // the next answer, and `done` is the range that the stream has finished since the last answer.
  // `due`: on_done() may be called after the request was served.
  bool by_kernel = false;
  bool due = false;
  io::PageRange done{};

  bool operator==(const ReadAheadAnswer&) const = default;
};

class ReadAhead {
 public:
  // posix_fadvise(2): `sequential` doubles the window, `random` switches read-ahead off.
  enum class Advice : std::uint8_t { normal, sequential, random };
  // Per file; a further stream replaces the one longest without a request.
  static constexpr std::uint32_t streams_max = 8;

  // `device_pages`: the device's read_ahead_kb (read_ahead_setting.hpp); 0: off. Without windows of
  // K2K, read-ahead is off except for streams that are left to Linux. `kernel_step`: the number of
  // pages per announcement of Linux' reads, at least 1.
  ReadAhead(std::uint64_t device_pages, std::uint64_t window_pages_max,
            std::uint64_t kernel_step = 1);

  void set_advice(Advice advice);
  // For later windows.
  void set_window_max(std::uint64_t pages) { window_cap_ = pages; }
  // May new windows of streams be left to Linux' own read-ahead? Streams left to Linux stay so to
  // their end. Each needs room for kernel_pages().
  void set_by_kernel(bool by_kernel) { by_kernel_ = by_kernel; }
  // The most pages for a stream that is left to Linux: two of Linux' windows behind the request,
  // the request, two steps before them and one behind.
  [[nodiscard]] std::uint64_t kernel_pages() const;
  // Call it after a request that was `due`: as on_read(); does nothing if another stream took its
  // place.
  ReadAheadAnswer on_done(std::uint64_t offset, std::uint64_t bytes, std::uint64_t file_bytes);
  // The stream of the last request, which is left to Linux: no page is absent up to here, so no
  // announcement is needed.
  void skip_to(std::uint64_t page);

  // Called for each request as it arrives. `file_bytes` is the file's length: pages beyond it are
  // ignored. `cached`: all of the request is in the page cache, so there is no reason to open a
  // window.
  ReadAheadAnswer on_read(std::uint64_t offset, std::uint64_t bytes, std::uint64_t file_bytes,
                          bool cached);

  // Number of streams with a window.
  [[nodiscard]] std::uint32_t streams() const;
  // The largest sequential request, in pages, that goes through the page cache.
  [[nodiscard]] std::uint64_t limit() const;

 private:
  struct Stream {
    bool used = false;
    std::uint64_t last_page = 0;  // The page of the next byte to read.
    std::uint64_t back = 0;       // The first page of the previous window.
    io::PageRange window;         // Ends with the file at the latest; no pages: no window.
    std::uint64_t mark = 0;       // At or beyond window.end(): no mark.
    std::uint64_t size = 0;       // The window's size in an endless file.
    bool by_kernel = false;       // Linux reads the window, which ends with the announced
                                  // range.

    [[nodiscard]] bool has(std::uint64_t page) const {
      return !window.empty() && page >= back && page < window.end();
    }
    [[nodiscard]] bool continued_at(std::uint64_t page) const {
      return used && (has(page) || page - last_page <= 1);
    }
  };

  // Linux' own window.
  [[nodiscard]] std::uint64_t kernel_window() const;
  [[nodiscard]] std::uint64_t window_max() const;
  // The stream that a page continues, or a new one in place of the oldest; first in streams_.
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
  std::array<Stream, streams_max> streams_;  // The most recently used first.
};

}  // namespace k2k::router
