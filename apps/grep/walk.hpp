#pragma once
// Worker: one directory.
//
//   open ─▶ getdents64 ─▶ each entry: to the queue, or if the queue is full
//                           a file       searched at once
//                           a directory  its parent's position is kept as a Frame, the walk goes
//                                        down, and comes back by opening the parent again
//
// So a walk needs one descriptor and one buffer at any depth.

#include "apps/grep/worker.hpp"

namespace k2k::grep {

// Walks the directory at the current path, and its subdirectories unless other workers take them.
template <class How>
K2K_SHARED_CODE K2K_DEVICE void Worker<How>::walk(int top_flags) {
  std::size_t depth = 0;
  std::int64_t resume_at = 0;
  while (true) {
    heed_host(job_);
    // Only the top may be a symbolic link, if the command line named one.
    const Reply opened = open_path(depth == 0 ? top_flags : open_flags | abi::o_directory);
    const int fd = opened.fd();
    bool descend = false;
    if (opened.ok()) {
      if (resume_at != 0) {
        k2k::lseek(k2k::work_item, How::wait, fd, resume_at, abi::seek_set);
      } else {
        count(&Counters::directories);
      }
      const TaskKind file_kind = kind_of_files(fd);
      while (!descend && !stopped(job_)) {
        const Reply got =
            k2k::getdents64(k2k::work_item, How::wait, fd, buffers_.entries, entries_bytes);
        if (!got.ok()) report(shown(), got.error());
        if (got.value() <= 0) break;
        const auto bytes = static_cast<std::size_t>(got.value());
        for (std::size_t at = 0; at < bytes && !descend && !stopped(job_);) {
          const unsigned char* const entry = buffers_.entries + at;
          at += abi::field<std::uint16_t>(entry, abi::entry_bytes_offset);
          const std::size_t parent_bytes = path_bytes_;
          descend = offer(entry, fd, file_kind);
          if (!descend) continue;
          buffers_.frames[depth++] = {parent_bytes,
                                      abi::field<std::int64_t>(entry, abi::entry_next_offset)};
        }
      }
      leave(fd);
    } else if (opened.error() != abi::eloop) {
      report(shown(), opened.error());
    }
    if (stopped(job_)) return;
    resume_at = 0;
    if (descend) continue;
    if (depth == 0) return;
    --depth;
    truncate_path(buffers_.frames[depth].path_bytes);
    resume_at = buffers_.frames[depth].offset;
  }
}

// Offers one entry to the other workers. Returns true if it is a directory and the queue has no
// room: then it is the current path.
template <class How>
K2K_DEVICE bool Worker<How>::offer(const unsigned char* entry, int fd, TaskKind file_kind) {
  const char* const name = reinterpret_cast<const char*>(entry + abi::entry_name_offset);
  if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'))) return false;
  const TaskKind kind = kind_of_entry(entry, fd, file_kind);
  if (kind == TaskKind::none) return false;
  const std::size_t parent_bytes = path_bytes_;
  if (!enter(name)) {
    report(shown(), abi::enametoolong);
    return false;
  }
  const bool taken = push(job_, buffers_.path, path_bytes_, kind);
  if (!taken && kind == TaskKind::directory) return true;
  if (!taken) search_file(kind);
  truncate_path(parent_bytes);
  return false;
}

// Returns `none` for entries that are skipped: links, devices, pipes and sockets.
template <class How>
K2K_DEVICE TaskKind Worker<How>::kind_of_entry(const unsigned char* entry, int fd,
                                               TaskKind file_kind) {
  const unsigned char type = entry[abi::entry_type_offset];
  if (type == abi::type_regular) return file_kind;
  if (type == abi::type_directory) return TaskKind::directory;
  if (type != abi::type_unknown) return TaskKind::none;
  const char* const name = reinterpret_cast<const char*>(entry + abi::entry_name_offset);
  unsigned char status[abi::status_bytes];
  const Reply reply =
      k2k::newfstatat(k2k::work_item, How::wait, fd, name, status, abi::at_symlink_nofollow);
  if (!reply.ok()) return file_kind;  // open() will report the reason.
  const std::uint32_t mode = abi::field<std::uint32_t>(status, abi::status_mode_offset);
  if ((mode & abi::mode_type) == abi::mode_regular) return file_kind;
  return (mode & abi::mode_type) == abi::mode_directory ? TaskKind::directory : TaskKind::none;
}

// The kind of this directory's files. Reads from synthetic file systems may be short long before
// the end of a file; the file system's type is requested once per device.
template <class How>
K2K_DEVICE TaskKind Worker<How>::kind_of_files(int fd) {
  unsigned char status[abi::status_bytes];
  const Reply reply = k2k::fstat(k2k::work_item, How::wait, fd, status);
  if (!reply.ok()) return TaskKind::trickle;
  const auto device = abi::field<std::uint64_t>(status, abi::status_device_offset);
  std::uint64_t seen = protocol::device_load(&job_.queue->device_seen);
  if (seen / 2 != device || seen == 0) {
    unsigned char system[abi::system_bytes];
    const Reply asked = k2k::fstatfs(k2k::work_item, How::wait, fd, system);
    const bool trickles = !asked.ok() || abi::is_synthetic(abi::field<std::uint64_t>(system, 0));
    seen = device * 2 + (trickles ? 1 : 0);
    protocol::device_store(&job_.queue->device_seen, seen);
  }
  return seen % 2 != 0 ? TaskKind::trickle : TaskKind::file;
}

}  // namespace k2k::grep
