#pragma once
// The common part of probe_program's scenes: "device memory", files in a folder of their own, and
// the output of locks and descriptors.
//
// Threading: as probe.hpp.

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "shim/tests/probe.hpp"

// Some scenes pass wrong arguments on purpose.
#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"

namespace k2k::shim::probe {

inline constexpr std::size_t device_bytes = 16 << 20;
inline constexpr std::size_t file_bytes = (3 << 20) + 1234;

inline char* device = nullptr;
inline char* volatile nowhere =
    reinterpret_cast<char*>(64);  // Volatile: hides the wrong address from the compiler.
inline std::string folder;

inline std::string path_of(const char* name) { return folder + "/" + name; }

inline void make_file(const char* name, std::size_t bytes = file_bytes) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 2654435761u >> 13);
  std::FILE* const file = std::fopen(path_of(name).c_str(), "w");
  if (file == nullptr || std::fwrite(data.data(), 1, bytes, file) != bytes) std::abort();
  std::fclose(file);
}

inline int open_file(const char* name, int flags = O_RDWR) {
  const int descriptor = open(path_of(name).c_str(), flags, 0644);
  if (descriptor < 0) std::abort();
  return descriptor;
}

// Does this process hold a POSIX lock on the file? A child process finds out.
inline void say_locked(const char* what, const char* name) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int descriptor = open(path_of(name).c_str(), O_RDWR);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    if (fcntl(descriptor, F_GETLK, &lock) != 0) _exit(2);
    _exit(lock.l_type == F_UNLCK ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  errno = 0;
  std::printf("%s: %s\n", what, WEXITSTATUS(status) == 1 ? "locked" : "not locked");
}

inline void take_lock(int descriptor) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  say("lock", fcntl(descriptor, F_SETLK, &lock));
}

// Prints the open descriptors below 1000, without the folder's own.
inline void say_numbers(const char* what) {
  std::printf("%s:", what);
  DIR* const numbers = opendir("/proc/self/fd");
  std::vector<int> found;
  while (const dirent* const entry = readdir(numbers)) {
    const int number = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && number != dirfd(numbers) && number < 1000) {
      found.push_back(number);
    }
  }
  closedir(numbers);
  std::sort(found.begin(), found.end());
  for (const int number : found) std::printf(" %d", number);
  std::printf("\n");
  errno = 0;
}

// The scenes. probe_positions.cpp:
void positions();
void chdir_first();
void locks();
void lock_of_a_stream();
void numbers();
// probe_data.cpp:
void vectors();
void host_reads();
void fortified();
void errors();
// probe_processes.cpp:
void signals();
void threads();
void appending();
void killed_writers();
void forking();
void writing();
// probe_by_number.cpp:
void by_number();
void closing_by_number();
void cancelled_by_number();
void ring_by_number();

}  // namespace k2k::shim::probe
