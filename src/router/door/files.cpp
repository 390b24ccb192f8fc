#include "router/door/files.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/file/raw.hpp"
#include "router/door/readers.hpp"
#include "router/file/readable.hpp"

namespace k2k::router {

namespace {

[[maybe_unused]] const int registered_for_forks =
    ::pthread_atfork(nullptr, nullptr, positions_after_fork_child);

}  // namespace

Result<std::shared_ptr<Files>> Files::create(const FilesOptions& options,
                                             RegisteredMemory& registered) {
  Result<std::shared_ptr<FileReader>> reader = make_reader(options);
  if (!reader) return reader.error();
  return std::make_shared<Files>(std::move(reader).value(), registered);
}

ssize_t Files::pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
  const auto answer = registered_.pread(descriptor, memory, bytes, offset);
  if (answer) return *answer;
  if (reader_) return reader_->pread(descriptor, memory, bytes, offset);
  return io::raw(SYS_pread64, descriptor, memory, bytes, offset);
}

ssize_t Files::pwrite(int descriptor, const void* memory, std::size_t bytes, std::int64_t offset) {
  const auto answer = registered_.pwrite(descriptor, memory, bytes, offset);
  if (answer) return *answer;
  if (reader_) return reader_->pwrite(descriptor, memory, bytes, offset);
  return io::raw(SYS_pwrite64, descriptor, memory, bytes, offset);
}

ssize_t Files::try_kernels(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
  const ssize_t count = cached_.pread(descriptor, memory, bytes, offset);
  if (count != -EOPNOTSUPP) return count;
  return io::raw(SYS_pread64, descriptor, memory, bytes, offset);
}

std::optional<ssize_t> Files::read(int descriptor, void* memory, std::size_t bytes,
                                   Patience patience) {
  if (bytes < positioned_bytes_min) return {};
  if (!reader_ && !registered_.holds(memory, bytes)) return {};
  if (registered_.cuts(memory, bytes)) return {};  // EFAULT, however much the file has.
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  if (!can_be_read(descriptor)) return {};
  const Position position(descriptor, facts.st_dev, facts.st_ino, patience);
  if (!position.held()) return -EAGAIN;
  // A file of /proc says that it is empty.
  const off_t begin = position.now();
  const off_t left = begin < 0 ? 0 : facts.st_size - begin;
  if (left < static_cast<off_t>(positioned_bytes_min)) return {};
  const std::size_t wanted = std::min(bytes, static_cast<std::size_t>(left));
  ssize_t count = 0;
  const auto read_at = [&](off_t offset) {
    return patience == Patience::none ? try_pread(descriptor, memory, wanted, offset)
                                      : pread(descriptor, memory, wanted, offset);
  };
  if (!position.read(wanted, read_at, count)) return {};
  return count;
}

int Files::advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) {
  registered_.each_reader(
      [&](FileReader& reader) { reader.advise(descriptor, offset, bytes, advice); });
  if (reader_) return reader_->advise(descriptor, offset, bytes, advice);
  return ::posix_fadvise(descriptor, offset, bytes, advice);
}

void Files::closing(int descriptor) {
  cached_.note_closed(descriptor);
  each_reader([&](FileReader& reader) { reader.closing(descriptor); });
}

void Files::forget(int descriptor, std::uint64_t device, std::uint64_t inode) {
  each_reader([&](FileReader& reader) { reader.forget(descriptor, device, inode); });
}

void Files::used_by_host(int descriptor, std::int64_t offset, std::uint64_t bytes) {
  each_reader([&](FileReader& reader) { reader.used_by_host(descriptor, offset, bytes); });
}

std::uint64_t Files::pages_held() const {
  std::uint64_t held = 0;
  each_reader([&](const FileReader& reader) { held += reader.pages_held(); });
  return held;
}

void Files::after_fork_child() {
  registered_.after_fork_child();
  if (reader_) reader_->after_fork_child();
}

ReaderStats Files::stats() const {
  ReaderStats stats = since(before_, registered_.stats());
  if (reader_) add_to(stats, reader_->stats());
  return stats;
}

}  // namespace k2k::router
