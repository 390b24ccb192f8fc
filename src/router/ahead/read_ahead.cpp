#include "router/ahead/read_ahead.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace k2k::router {

namespace {

// get_init_ra_size(). At least `pages`, which is at most `max`.
std::uint64_t first_size(std::uint64_t pages, std::uint64_t max) {
  const std::uint64_t rounded = std::bit_ceil(pages);
  if (rounded <= max / 32) return rounded * 4;
  if (rounded <= max / 4) return rounded * 2;
  return max;
}

// get_next_ra_size().
std::uint64_t next_size(std::uint64_t size, std::uint64_t max) {
  if (size < max / 16) return size * 4;
  if (size <= max / 2) return size * 2;
  return max;
}

io::PageRange in_file(io::PageRange range, std::uint64_t file_pages) {
  const std::uint64_t end = std::min(range.end(), file_pages);
  return {range.first, end - std::min(range.first, end)};
}

}  // namespace

std::uint64_t window_pages_max(std::uint64_t partition_pages, std::uint64_t unread) {
  const std::uint64_t left = partition_pages - std::min(unread, partition_pages);
  return std::max({std::uint64_t{1}, partition_pages / 32, left / 3});
}

ReadAhead::ReadAhead(std::uint64_t device_pages, std::uint64_t window_pages_max,
                     std::uint64_t kernel_step)
    : device_pages_(device_pages), window_cap_(window_pages_max), kernel_step_(kernel_step) {}

void ReadAhead::set_advice(Advice advice) {
  advice_ = advice;
  if (advice == Advice::random) streams_ = {};
}

std::uint64_t ReadAhead::kernel_window() const {
  if (advice_ == Advice::random) return 0;
  return advice_ == Advice::sequential ? 2 * device_pages_ : device_pages_;
}

std::uint64_t ReadAhead::window_max() const { return std::min(kernel_window(), window_cap_); }

std::uint64_t ReadAhead::kernel_pages() const {
  return 2 * kernel_window() + device_pages_ + 3 * kernel_step_;
}

std::uint64_t ReadAhead::limit() const { return std::min(device_pages_, window_max()); }

std::uint32_t ReadAhead::streams() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(streams_, [](const Stream& each) { return !each.window.empty(); }));
}

ReadAhead::Stream& ReadAhead::stream_at(std::uint64_t page) {
  const auto found =
      std::ranges::find_if(streams_, [&](const Stream& each) { return each.continued_at(page); });
  if (found != streams_.end()) {
    std::rotate(streams_.begin(), found, found + 1);
  } else {
    std::ranges::rotate(streams_, streams_.end() - 1);
    streams_.front() = {};
  }
  return streams_.front();
}

ReadAheadAnswer ReadAhead::on_read(std::uint64_t offset, std::uint64_t bytes,
                                   std::uint64_t file_bytes, bool cached) {
  bytes = std::min(bytes, file_bytes - std::min(offset, file_bytes));
  const io::PageRange request = io::pages_of(offset, bytes);
  const std::uint64_t file_pages = io::pages_of(0, file_bytes).pages;
  if (request.empty() || kernel_window() == 0) return {};
  Stream& stream = stream_at(request.first);
  const bool known = std::exchange(stream.used, true);
  stream.last_page = (offset + bytes) / io::page_bytes;
  if (request.pages > (stream.by_kernel || by_kernel_ ? device_pages_ : limit())) {
    stream.window = {};
    stream.by_kernel = false;
    return {};
  }
  if (stream.has(request.first)) {
    const bool due = by_kernel_ && request.end() > stream.mark;
    if (stream.by_kernel || due) return announce(stream, request, file_pages, false);
    return {push(stream, request, file_pages), true};
  }
  stream.window = {request.first, 0};
  stream.back = request.first;
  stream.by_kernel = false;
  if (!known && request.first != 0) return {};
  if (cached) return {{}, true};
  if (by_kernel_) return announce(stream, request, file_pages, false);
  return {open(stream, request, file_pages), true};
}

ReadAheadAnswer ReadAhead::on_done(std::uint64_t offset, std::uint64_t bytes,
                                   std::uint64_t file_bytes) {
  const io::PageRange request = io::pages_of(offset, bytes);
  const auto found = std::ranges::find_if(streams_, [&](const Stream& each) {
    return each.used && each.by_kernel && each.has(request.first);
  });
  if (found == streams_.end() || request.empty()) return {};
  std::rotate(streams_.begin(), found, found + 1);
  return announce(streams_.front(), request, io::pages_of(0, file_bytes).pages, true);
}

// Linux reads, for a request that ends at e and windows of R, nothing behind e + 2 R: a request
// that reaches the mark of a window, which is R long and begins before e, brings the next one.
ReadAheadAnswer ReadAhead::announce(Stream& stream, io::PageRange request, std::uint64_t file_pages,
                                    bool early) const {
  stream.by_kernel = true;
  const std::uint64_t may_end = std::min(request.end() + 2 * kernel_window(), file_pages);
  const std::uint64_t announced = stream.window.end();
  const bool is_near = may_end + kernel_step_ > announced;
  if (may_end <= announced && !(early && is_near)) {
    return {.sequential = true, .by_kernel = true, .due = is_near};
  }
  const std::uint64_t end = std::max(std::min(may_end + 2 * kernel_step_, file_pages), announced);
  // Requests of work-groups overtake each other: a step behind is still the stream's.
  const std::uint64_t left = request.first - std::min(request.first, kernel_step_);
  const io::PageRange done{stream.back, std::max(left, stream.back) - stream.back};
  stream.back = done.end();
  const io::PageRange more{announced, end - announced};
  if (!more.empty()) stream.window = more;
  return {.prefetch = more, .sequential = true, .by_kernel = true, .done = done};
}

void ReadAhead::skip_to(std::uint64_t page) {
  Stream& stream = streams_.front();
  if (stream.by_kernel && page > stream.window.end()) {
    stream.window.pages = page - stream.window.first;
  }
}

io::PageRange ReadAhead::open(Stream& stream, io::PageRange request,
                              std::uint64_t file_pages) const {
  stream.size = first_size(request.pages, window_max());
  stream.back = request.first;
  stream.window = in_file({request.first, stream.size}, file_pages);
  // Behind the request; or, if nothing is, in its middle.
  const bool longer = stream.size > request.pages;
  stream.mark = request.first + (longer ? request.pages : stream.size - stream.size / 2);
  const io::PageRange opened = stream.window;
  const io::PageRange pushed = push(stream, request, file_pages);
  return {opened.first, opened.pages + pushed.pages};
}

io::PageRange ReadAhead::push(Stream& stream, io::PageRange request,
                              std::uint64_t file_pages) const {
  io::PageRange pushed = {stream.window.end(), 0};
  // At most twice: the request is no larger than the largest window. If it passes two windows, they
  // were small, and a window that begins with the request is the better start.
  for (int round = 0; request.end() > stream.mark && stream.window.end() < file_pages; ++round) {
    if (round == 2) return open(stream, request, file_pages);
    stream.size = next_size(stream.size, window_max());
    stream.back = stream.window.first;
    stream.window = in_file({stream.window.end(), stream.size}, file_pages);
    stream.mark = stream.window.first;
    pushed.pages += stream.window.pages;
  }
  return pushed;
}

}  // namespace k2k::router
