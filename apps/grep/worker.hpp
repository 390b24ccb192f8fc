#pragma once
// A worker of k2k grep does one task: open, read, search, write the name, close.
//
// The kernel itself makes all system calls, at work-item scope. In search_as_group(), however, the
// items of a group share one file's text and one set of calls. Directories are defined in walk.hpp,
// search_as_group() in group_search.hpp: a kernel includes both.
//
// Calls per file: open, pread, close; a read shorter than the buffer is the end of a regular file.
// Calls per directory: open, fstat, getdents64 twice, close; entries contain their type.
//
// Threading: one Worker a work-item. In a group only item 0's holds a task; the others help.

#include <type_traits>

#include "apps/grep/abi.hpp"
#include "apps/grep/bytes.hpp"
#include "apps/grep/queue.hpp"

namespace k2k::grep {

// How the calls are made, as types (device/options.hpp).
template <bool halting_, bool detached_>
struct Manner {
  static constexpr bool detached = detached_;
  using Wait =
      std::conditional_t<halting_, std::remove_const_t<decltype(k2k::halting)>, device::Options<>>;
  static constexpr Wait wait{};
  // For calls whose answers are not needed.
  using Leave = std::conditional_t<detached_, std::remove_const_t<decltype(k2k::detached)>, Wait>;
  static constexpr Leave leave{};
};

// Shared by the items of a group during one task.
struct Meeting {
  std::uint32_t kind;     // TaskKind.
  std::uint32_t found;    // The text contains a word.
  std::uint32_t stopped;  // Item 0 saw the request to stop.
};

template <class How>
class Worker {
 public:
  K2K_DEVICE Worker(const Job& job, std::uint64_t index)
      : job_(job), buffers_(job.buffers[index]) {}

  // Waits for a task and takes it.
  K2K_DEVICE TaskKind take() {
    kind_ = next_task(job_, How::wait, buffers_.path, path_bytes_, argument_);
    return kind_;
  }

  // Does the task that was taken, alone.
  K2K_SHARED_CODE K2K_DEVICE void work() {
    if (kind_ == TaskKind::argument) {
      search_argument(job_.arguments[argument_]);
    } else if (kind_ == TaskKind::directory) {
      walk(open_flags | abi::o_directory);
    } else {
      search_file(kind_);
    }
    finish_task(job_);
  }

  // Searches the task's file with the whole group; every item calls this function. `kind` is item
  // 0's.
  K2K_DEVICE void search_as_group(Meeting& meeting, TaskKind kind);

 private:
  static constexpr int open_flags =
      abi::o_rdonly | abi::o_noctty | abi::o_nonblock | abi::o_nofollow | abi::o_cloexec;
  static constexpr int full_tries_max = 1000;  // Attempts to get a descriptor, 1 ms apart.
  static constexpr std::uint32_t reads_between_looks = 16;  // At the host's request to end.

  // --- Helpers.

  // The host reads the numbers while the kernel runs, each by itself: no order is needed.
  K2K_DEVICE void count(std::uint64_t Counters::* counter, std::uint64_t amount = 1) {
    counted_.*counter += amount;
    protocol::store_hint(&(buffers_.counters->*counter), counted_.*counter);
  }
  K2K_DEVICE const char* shown() const {
    return job_.bare_names && path_bytes_ > 2 ? buffers_.path + 2 : buffers_.path;
  }
  K2K_DEVICE bool set_path(const char* text) {
    std::size_t bytes = 0;
    while (bytes < path_bytes_max && text[bytes] != '\0') ++bytes;
    if (bytes == path_bytes_max) return false;
    __builtin_memcpy(buffers_.path, text, bytes + 1);
    path_bytes_ = bytes;
    return true;
  }
  K2K_DEVICE void truncate_path(std::size_t bytes) {
    buffers_.path[bytes] = '\0';
    path_bytes_ = bytes;
  }
  // Appends an entry's name to the current path. Returns false if the name becomes too long.
  K2K_DEVICE bool enter(const char* name) {
    std::size_t end = path_bytes_;
    if (end != 0 && buffers_.path[end - 1] != '/') buffers_.path[end++] = '/';
    for (; *name != '\0' && end + 1 < path_bytes_max; ++name) buffers_.path[end++] = *name;
    const bool fits = *name == '\0';
    if (fits) {
      truncate_path(end);
    } else {
      truncate_path(path_bytes_);
    }
    return fits;
  }

  // --- Output: one write(2) a line.

  // Returns the errno, or 0 if all of it was written.
  K2K_SHARED_CODE K2K_DEVICE int write_all(int fd, const char* text, std::size_t bytes) {
    while (bytes != 0) {
      const Reply reply = k2k::write(k2k::work_item, How::wait, fd, text, bytes);
      if (reply.error() == abi::eagain) {
        nap(How::wait, nap_ns_max / 10);
        heed_host(job_);
        if (stopped(job_)) return abi::eagain;
        continue;
      }
      if (!reply.ok()) return reply.error();
      text += reply.value();
      bytes -= static_cast<std::size_t>(reply.value());
    }
    return 0;
  }

  K2K_SHARED_CODE K2K_DEVICE void write_name(const char* name, std::size_t bytes) {
    count(&Counters::matches);
    if (job_.quiet) {
      protocol::device_store(&job_.queue->stop, std::uint32_t{1});
      return;
    }
    __builtin_memcpy(buffers_.line, name, bytes);
    buffers_.line[bytes] = '\n';
    if constexpr (How::detached) {
      // A short line is copied with the call, and a pipe takes it whole or not at all.
      if (bytes + 1 <= abi::pipe_buf) {
        k2k::write(k2k::work_item, How::leave, 1, buffers_.line, bytes + 1);
        return;
      }
    }
    const int error = write_all(1, buffers_.line, bytes + 1);
    if (error == 0) return;
    protocol::store_hint(&buffers_.counters->write_error, static_cast<std::uint64_t>(error));
    protocol::device_store(&job_.queue->stop, std::uint32_t{1});
  }
  K2K_DEVICE void write_name() {
    const char* const name = shown();
    write_name(name, path_bytes_ - static_cast<std::size_t>(name - buffers_.path));
  }

  // "k2k grep: NAME: TEXT" on standard error.
  K2K_SHARED_CODE K2K_DEVICE void report(const char* name, int error) {
    count(&Counters::errors);
    if (job_.no_messages) return;
    std::size_t end = 0;
    const auto append = [&](const char* text, std::size_t limit) {
      for (; *text != '\0' && end < limit; ++text) buffers_.line[end++] = *text;
    };
    const auto number = static_cast<std::uint32_t>(error);
    append("k2k grep: ", line_bytes);
    append(name, path_bytes_max);
    append(": ", line_bytes);
    append(job_.error_texts[number < error_texts_max ? number : 0], line_bytes - 1);
    buffers_.line[end++] = '\n';
    static_cast<void>(write_all(2, buffers_.line, end));
  }

  // --- Opening.

  // openat(2). Waits while the descriptor table is full, because other workers close theirs.
  K2K_SHARED_CODE K2K_DEVICE Reply open_at(int directory, const char* path, int flags) {
    for (int attempt = 0;; ++attempt) {
      const Reply reply = directory == abi::at_fdcwd
                              ? k2k::open(k2k::work_item, How::wait, path, flags)
                              : k2k::openat(k2k::work_item, How::wait, directory, path, flags);
      const bool full = reply.error() == abi::emfile || reply.error() == abi::enfile;
      if (full) heed_host(job_);
      if (!full || attempt == full_tries_max || stopped(job_)) return reply;
      nap(How::wait, nap_ns_max / 10);
    }
  }
  // Opens the current path at any length: beyond PATH_MAX, piece by piece.
  K2K_SHARED_CODE K2K_DEVICE Reply open_path(int flags) {
    if (path_bytes_ < abi::path_max) return open_at(abi::at_fdcwd, buffers_.path, flags);
    int directory = abi::at_fdcwd;
    char* piece = buffers_.path;
    char* const end = buffers_.path + path_bytes_;
    while (true) {
      char* cut = end;
      if (static_cast<std::size_t>(end - piece) >= abi::path_max) {
        cut = piece + abi::path_max - 1;
        while (cut > piece && *cut != '/') --cut;
        if (cut == piece) break;  // One component longer than any file system permits.
      }
      const char kept = *cut;
      *cut = '\0';
      const Reply reply =
          open_at(directory, piece, cut == end ? flags : abi::o_path | abi::o_cloexec);
      *cut = kept;
      if (directory != abi::at_fdcwd) leave(directory);
      if (cut == end || !reply.ok()) return reply;
      directory = reply.fd();
      piece = cut + 1;
    }
    if (directory != abi::at_fdcwd) leave(directory);
    return Reply(-abi::enametoolong);
  }
  K2K_DEVICE void leave(int fd) { k2k::close(k2k::work_item, How::leave, fd); }

  // --- Files.

  // Searches the file at the current path, found in a directory.
  K2K_SHARED_CODE K2K_DEVICE void search_file(TaskKind kind) {
    const Reply reply = open_path(open_flags);
    if (!reply.ok()) {
      // The entry became a symbolic link after the directory was read: links are not followed.
      if (reply.error() != abi::eloop) report(shown(), reply.error());
      return;
    }
    if (search_open(reply.fd(), kind == TaskKind::file, true, shown())) write_name();
    leave(reply.fd());
  }

  // Reads to the end or the first word. `whole_reads`: a short read is the end. `seeks`: uses
  // pread.
  K2K_SHARED_CODE K2K_DEVICE bool search_open(int fd, bool whole_reads, bool seeks,
                                              const char* name) {
    std::size_t kept = 0;
    std::int64_t offset = 0;
    count(&Counters::files);
    for (std::uint32_t reads = 0;; ++reads) {
      if (reads % reads_between_looks == 0) heed_host(job_);
      if (stopped(job_)) return false;
      unsigned char* const to = buffers_.incoming;
      const Reply reply =
          seeks ? k2k::pread(k2k::work_item, How::wait, fd, to, job_.chunk_bytes, offset)
                : k2k::read(k2k::work_item, How::wait, fd, to, job_.chunk_bytes);
      if (reply.error() == abi::eagain && !seeks) {
        nap(How::wait, nap_ns_max / 10);
        heed_host(job_);
        continue;
      }
      if (!reply.ok()) report(name, reply.error());
      if (reply.value() <= 0) return false;
      const auto got = static_cast<std::size_t>(reply.value());
      count(&Counters::bytes, got);
      offset += reply.value();
      if (to != buffers_.text) apps::copy_wide(buffers_.text, to, got, 0, 1);
      const std::size_t size = kept + got;
      if (contains_word(job_.words, {buffers_.text - kept, size, 0, size})) return true;
      if (whole_reads && got < job_.chunk_bytes) return false;
      kept = size < job_.longest_kept ? size : job_.longest_kept;
      keep_tail(got, kept);
    }
  }

  // Moves a possible beginning of a word, the last `kept` bytes of the text whose last chunk has
  // `got` bytes, to before the next chunk.
  K2K_DEVICE void keep_tail(std::size_t got, std::size_t kept) {
    move_down(buffers_.text - kept, buffers_.text + got - kept, kept);
  }

  // A PATH of the command line: links are followed, and any kind of file is read.
  K2K_SHARED_CODE K2K_DEVICE void search_argument(const char* text) {
    if (text[0] == '-' && text[1] == '\0') {
      constexpr char name[] = "(standard input)";
      if (search_open(0, false, false, name)) write_name(name, sizeof(name) - 1);
      return;
    }
    if (!set_path(text)) return report(text, abi::enametoolong);
    const Reply reply = open_path(abi::o_rdonly | abi::o_noctty | abi::o_cloexec);
    if (!reply.ok()) return report(text, reply.error());
    unsigned char status[abi::status_bytes];
    const Reply known = k2k::fstat(k2k::work_item, How::wait, reply.fd(), status);
    const std::uint32_t type =
        known.ok() ? abi::field<std::uint32_t>(status, abi::status_mode_offset) & abi::mode_type
                   : 0;
    if (type == abi::mode_directory) {
      leave(reply.fd());
      while (path_bytes_ > 1 && buffers_.path[path_bytes_ - 1] == '/')
        truncate_path(path_bytes_ - 1);
      return walk(abi::o_rdonly | abi::o_cloexec | abi::o_directory);
    }
    // Files of size 0 may be procfs files: only an empty read is their end.
    const bool regular = type == abi::mode_regular;
    const bool sized = regular && abi::field<std::int64_t>(status, abi::status_size_offset) != 0;
    if (search_open(reply.fd(), sized, regular, text)) write_name();
    leave(reply.fd());
  }

  // --- Directories.

  K2K_DEVICE void walk(int top_flags);
  K2K_DEVICE bool offer(const unsigned char* entry, int fd, TaskKind file_kind);
  K2K_DEVICE TaskKind kind_of_entry(const unsigned char* entry, int fd, TaskKind file_kind);
  K2K_DEVICE TaskKind kind_of_files(int fd);

  const Job& job_;
  const Buffers buffers_;
  Counters counted_;  // As in buffers_.counters, which may lie across the bus.
  TaskKind kind_ = TaskKind::none;
  std::uint32_t argument_ = 0;
  std::size_t path_bytes_ = 0;
};

}  // namespace k2k::grep
