// The fault file system: shows a folder through FUSE, with the faults that a page of shared memory
// requests (control.hpp). For tests.
//
//
//   fault_file_system CONTROL FOLDER MOUNT_POINT     until it is unmounted, or its starter ends
//
// Names and attributes are not cached, as in a network file system that others change: a direct
// change of FOLDER is visible at once.
//
// Threading: libfuse's; a request that is held keeps its thread.

#define FUSE_USE_VERSION 312

#include <fcntl.h>
#include <fuse.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/faults/control.hpp"

namespace {

using k2k::faults::Control;

constexpr useconds_t look_again_us = 1000;
constexpr int looks_max = 120'000;  // Ends the wait if a test forgot to release a request.
constexpr std::uint64_t direct_bit = std::uint64_t{1} << 32;

Control* control = nullptr;
std::string folder;

// The result of open(), as libfuse's handle.
std::uint64_t handle_of(int descriptor, bool direct) {
  return static_cast<std::uint32_t>(descriptor) | (direct ? direct_bit : 0);
}
int descriptor_of(const fuse_file_info* file) { return static_cast<int>(file->fh & 0xffffffff); }
bool is_direct(const fuse_file_info* file) { return (file->fh & direct_bit) != 0; }

std::string path_of(const char* path) { return folder + path; }

int answer_of(long result) { return result < 0 ? -errno : static_cast<int>(result); }

int fail(int error) {
  ++control->failed;
  return -error;
}

void wait_while(const std::atomic<std::uint32_t>& held) {
  if (held == 0) return;
  ++control->held;
  for (int look = 0; held != 0 && look < looks_max; ++look) ::usleep(look_again_us);
  --control->held;
}

bool touches_bad_byte(std::size_t bytes, off_t offset) {
  const std::uint64_t bad = control->bad_byte;
  const auto begin = static_cast<std::uint64_t>(offset);
  return bad >= begin && bad - begin < bytes;
}

int get_attributes(const char* path, struct stat* facts, fuse_file_info* file) {
  wait_while(control->hold_attributes);
  const int result =
      file != nullptr ? ::fstat(descriptor_of(file), facts) : ::lstat(path_of(path).c_str(), facts);
  const std::uint64_t said = control->said_bytes;
  if (result == 0 && S_ISREG(facts->st_mode) && said != Control::none) {
    facts->st_size = static_cast<off_t>(said);
  }
  return answer_of(result);
}

int open_with(const char* path, int flags, mode_t mode, fuse_file_info* file) {
  const bool direct = (flags & O_DIRECT) != 0;
  if (direct) {
    ++control->direct_opens;
    wait_while(control->hold_direct_opens);
    if (const int error = control->direct_open_error; error != 0) return fail(error);
  }
  // Whatever the program reads or writes, the kernel reads whole pages, and the kernel determines
  // the position of an append.
  int own = flags & ~(O_DIRECT | O_APPEND | O_ACCMODE | O_NOFOLLOW);
  own |= (flags & O_ACCMODE) == O_RDONLY ? O_RDONLY : O_RDWR;
  const int descriptor = ::open(path_of(path).c_str(), own | O_CLOEXEC, mode);
  if (descriptor < 0) return -errno;
  file->fh = handle_of(descriptor, direct);
  file->direct_io = control->uncached != 0 ? 1 : 0;
  file->keep_cache = 1;
  return 0;
}

int open_file(const char* path, fuse_file_info* file) {
  return open_with(path, file->flags, 0, file);
}

int create_file(const char* path, mode_t mode, fuse_file_info* file) {
  return open_with(path, file->flags | O_CREAT, mode, file);
}

int read_file(const char*, char* into, std::size_t bytes, off_t offset, fuse_file_info* file) {
  ++control->reads;
  wait_while(control->hold_reads);
  if (is_direct(file)) {
    ++control->direct_reads;
    if (const int error = control->direct_read_error; error != 0) return fail(error);
  }
  if (touches_bad_byte(bytes, offset)) return fail(EIO);
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes, control->read_bytes_max));
  return answer_of(::pread(descriptor_of(file), into, most, offset));
}

int write_file(const char*, const char* from, std::size_t bytes, off_t offset,
               fuse_file_info* file) {
  if (is_direct(file)) {
    ++control->direct_writes;
    if (const int error = control->direct_write_error; error != 0) return fail(error);
  }
  if (touches_bad_byte(bytes, offset)) return fail(EIO);
  if (static_cast<std::uint64_t>(offset) + bytes > control->space_bytes) return fail(ENOSPC);
  const std::uint64_t limit = is_direct(file) ? control->direct_write_bytes_max.load() : bytes;
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, limit));
  return answer_of(::pwrite(descriptor_of(file), from, most, offset));
}

int cut(const char* path, off_t bytes, fuse_file_info* file) {
  return answer_of(file != nullptr ? ::ftruncate(descriptor_of(file), bytes)
                                   : ::truncate(path_of(path).c_str(), bytes));
}

int rename_file(const char* from, const char* to, unsigned flags) {
  if (flags != 0) return -EINVAL;
  return answer_of(std::rename(path_of(from).c_str(), path_of(to).c_str()));
}

int make_folder(const char* path, mode_t mode) {
  return answer_of(::mkdir(path_of(path).c_str(), mode));
}
int remove_folder(const char* path) { return answer_of(::rmdir(path_of(path).c_str())); }
int remove_file(const char* path) { return answer_of(::unlink(path_of(path).c_str())); }
int sync_file(const char*, int, fuse_file_info* file) {
  return answer_of(::fsync(descriptor_of(file)));
}
int release_file(const char*, fuse_file_info* file) {
  return answer_of(::close(descriptor_of(file)));
}

void* begin(fuse_conn_info*, fuse_config* config) {
  config->use_ino = 1;
  config->attr_timeout = 0;
  config->entry_timeout = 0;
  config->negative_timeout = 0;
  return nullptr;
}

fuse_operations operations() {
  fuse_operations all{};
  all.init = begin;
  all.getattr = get_attributes;
  all.open = open_file;
  all.create = create_file;
  all.read = read_file;
  all.write = write_file;
  all.truncate = cut;
  all.rename = rename_file;
  all.mkdir = make_folder;
  all.rmdir = remove_folder;
  all.unlink = remove_file;
  all.fsync = sync_file;
  all.release = release_file;
  return all;
}

Control* control_at(const char* path) {
  const int descriptor = ::open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  void* const memory =
      ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  return memory == MAP_FAILED ? nullptr : static_cast<Control*>(memory);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return std::fprintf(stderr, "fault_file_system CONTROL FOLDER MOUNT_POINT\n"), 2;
  // The mount ends with the test, however that ends.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  control = control_at(words[1]);
  if (control == nullptr) return std::perror(words[1]), 2;
  folder = words[2];
  std::string options = "fsname=k2k_faults,default_permissions,max_threads=64";
  std::string in_foreground = "-f";
  std::string with = "-o";
  char* own[] = {words[0], in_foreground.data(), with.data(), options.data(), words[3], nullptr};
  const fuse_operations all = operations();
  return fuse_main(5, own, &all, nullptr);
}
