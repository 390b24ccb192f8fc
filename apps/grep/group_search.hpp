#pragma once
// Worker: a whole work-group searches one file.
//
// The calls have the scope of the group: item 0 makes them, and all items get their answers. The
// text lies in one buffer; each item searches its part (matcher.hpp: parts are independent, so they
// need not overlap).
//
//   pread       its broadcast holds all items until the next text is in the buffer
//   barrier A   if the text is copied into device memory: all items have copied their parts
//   barrier B   all items have searched, or know that the text is empty: `found` is final

#include "apps/grep/worker.hpp"

namespace k2k::grep {

template <class How>
K2K_SHARED_CODE K2K_DEVICE void Worker<How>::search_as_group(Meeting& meeting, TaskKind kind) {
  const bool first = k2k::item_rank() == 0;
  const int fd = k2k::open(k2k::work_group, How::wait, buffers_.path, open_flags).fd();
  if (fd < 0) {
    if (first) work();  // Item 0 handles long names, a full descriptor table and messages.
    return;
  }
  std::size_t kept = 0;
  std::int64_t offset = 0;
  bool found = false;
  if (first) count(&Counters::files);
  for (std::uint32_t reads = 0;; ++reads) {
    if (first && reads % reads_between_looks == 0) heed_host(job_);
    const Reply reply = k2k::pread(k2k::work_group, k2k::relaxed | How::wait, fd, buffers_.incoming,
                                   job_.chunk_bytes, offset);
    if (!reply.ok() && first) report(shown(), reply.error());
    if (reply.value() <= 0) break;
    const auto got = static_cast<std::size_t>(reply.value());
    offset += reply.value();
    if (buffers_.incoming != buffers_.text) {
      apps::copy_wide(buffers_.text, buffers_.incoming, got, k2k::item_rank(), k2k::group_size());
      k2k::barrier();  // A
    }
    const std::size_t size = kept + got;
    const std::size_t share = size / k2k::group_size() + 1;
    const std::size_t part = share < job_.part_bytes_min ? job_.part_bytes_min : share;
    const std::size_t begin = part * k2k::item_rank();
    const unsigned char* const text = buffers_.text - kept;
    if (begin < size && contains_word(job_.words, {text, size, begin, begin + part})) {
      protocol::device_store(&meeting.found, std::uint32_t{1});
    }
    if (first) {
      count(&Counters::bytes, got);
      if (stopped(job_)) protocol::device_store(&meeting.stopped, std::uint32_t{1});
    }
    k2k::barrier();  // B
    found = protocol::device_load(&meeting.found) != 0;
    if (found || meeting.stopped != 0 || (kind == TaskKind::file && got < job_.chunk_bytes)) break;
    const std::size_t tail = size < job_.longest_kept ? size : job_.longest_kept;
    if (first) keep_tail(got, tail);
    kept = tail;
  }
  if (first && found) write_name();
  k2k::close(k2k::work_group, k2k::relaxed | How::leave, fd);
  if (first) finish_task(job_);
}

}  // namespace k2k::grep
