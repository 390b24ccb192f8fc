// Goal: whatever the path, no descriptor can write to a file of a process, its memory above all;
// every other file opens as Linux opens it, and a file in use by an open is not in use after it.

#include "services/opens/guarded_open.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/own_descriptors.hpp"
#include "base/system_call.hpp"
#include "services/services_fixture.hpp"

namespace k2k::services {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t here = static_cast<std::uint64_t>(AT_FDCWD);

std::int64_t linux_opens(std::uint64_t folder, const char* path, int flags, unsigned mode) {
  const int opened = ::openat(static_cast<int>(folder), path, flags, mode);
  return opened < 0 ? -errno : opened;
}

// As services.cpp: a call that cannot write is passed on.
std::int64_t opens_at(std::uint64_t folder, const char* path, int flags, unsigned mode = 0600) {
  const std::uint64_t word[protocol::argument_count] = {folder, as_word(path),
                                                        static_cast<std::uint64_t>(flags), mode};
  const auto answer = open_guarded(SYS_openat, word);
  return answer ? *answer : linux_opens(folder, path, flags, mode);
}
std::int64_t opens(const std::string& path, int flags, unsigned mode = 0600) {
  return opens_at(here, path.c_str(), flags, mode);
}
std::int64_t opens_by(const char* path, const open_how& how, std::size_t bytes = sizeof(open_how)) {
  const std::uint64_t word[protocol::argument_count] = {here, as_word(path), as_word(&how), bytes};
  return open_guarded(SYS_openat2, word).value_or(1);
}
std::int64_t closed(std::int64_t opened) {
  if (opened < 0) return opened;
  system_call(SYS_close, opened);
  return 0;
}

class GuardedOpen : public testing::Test {
 protected:
  GuardedOpen() {
    std::string pattern = testing::TempDir() + "k2k_open_XXXXXX";
    folder_ = fs::canonical(::mkdtemp(pattern.data()));
    // A file of another mount than the root folder's, where the machine has one.
    std::string other = "/dev/shm/k2k_open_XXXXXX";
    other_ = ::mkdtemp(other.data()) == nullptr ? folder_ / "other" : fs::path(other);
    fs::create_directories(other_);
  }
  ~GuardedOpen() override {
    fs::remove_all(folder_);
    fs::remove_all(other_);
  }
  // Mounts `what` at `where` for a child process alone, in which `right` must hold.
  static void expect_with_mount(const char* what, const fs::path& where, const char* system,
                                unsigned long flags, const std::function<bool()>& right) {
    constexpr int cannot_mount = 77;
    const pid_t child = ::fork();
    if (child == 0) {
      const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                           ::mount(what, where.c_str(), system, flags, nullptr) == 0;
      ::_exit(!mounted ? cannot_mount : right() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == cannot_mount) GTEST_SKIP() << "this user may not mount; run as root";
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  fs::path folder_;
  fs::path other_;
};

TEST_F(GuardedOpen, memory_of_processes_is_not_opened_for_writing) {
  const std::string self = std::to_string(::getpid());
  const std::string thread = std::to_string(::gettid());
  fs::create_symlink("/proc/self/mem", folder_ / "link");
  fs::create_directory_symlink("/proc/self", folder_ / "process");
  const std::vector<std::string> paths = {
      "/proc/self/mem",
      "/proc/thread-self/mem",
      "/proc/" + self + "/mem",
      "/proc/self/task/" + thread + "/mem",
      "/proc/" + thread + "/mem",
      "/proc/self/root/proc/self/mem",
      "/proc/self/cwd/../../../../../../../../proc/self/mem",
      "//proc/./self/../self/mem",
      folder_ / "link",
      folder_ / "process/mem",
  };
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    for (const int flags : {O_WRONLY, O_RDWR, O_RDWR | O_CREAT, O_WRONLY | O_TRUNC | O_CLOEXEC,
                            O_RDWR | O_APPEND | O_NONBLOCK}) {
      EXPECT_EQ(closed(opens(path, flags)), -EPERM) << flags;
    }
    EXPECT_EQ(closed(opens(path, O_RDWR | O_CREAT | O_EXCL)), -EEXIST);
    EXPECT_EQ(closed(opens(path, O_RDONLY)), 0) << "may be read";
    const std::uint64_t word[protocol::argument_count] = {as_word(path.c_str()), O_RDWR};
    EXPECT_EQ(open_guarded(SYS_open, word), -EPERM);
    EXPECT_EQ(open_guarded(SYS_creat, word), -EPERM);
    EXPECT_EQ(opens_by(path.c_str(), {.flags = O_RDWR, .mode = 0, .resolve = 0}), -EPERM);
  }
  EXPECT_EQ(closed(opens("/proc/1/mem", O_RDWR)), -EPERM) << "of other processes, too";
}

TEST_F(GuardedOpen, memory_is_found_below_descriptors_and_behind_magic_links) {
  const int process = ::open("/proc/self", O_PATH | O_DIRECTORY);
  EXPECT_EQ(opens_at(static_cast<std::uint64_t>(process), "mem", O_RDWR), -EPERM);
  EXPECT_EQ(opens_at(static_cast<std::uint64_t>(process), "task/../mem", O_WRONLY), -EPERM);
  ::close(process);
  fs::create_directory_symlink("/proc/self/fd", folder_ / "fd");
  for (const int flags : {O_PATH, O_RDONLY}) {
    const int memory = ::open("/proc/self/mem", flags);
    ASSERT_GE(memory, 0);
    EXPECT_EQ(opens("/proc/self/fd/" + std::to_string(memory), O_RDWR), -EPERM);
    EXPECT_EQ(opens(folder_ / "fd" / std::to_string(memory), O_WRONLY), -EPERM);
    ::close(memory);
  }
}

TEST_F(GuardedOpen, memory_is_found_where_the_working_folder_is_a_process) {
  const fs::path before = fs::current_path();
  fs::current_path("/proc/self");
  EXPECT_EQ(opens("mem", O_RDWR), -EPERM);
  EXPECT_EQ(opens("./task/../mem", O_RDWR), -EPERM);
  fs::current_path(folder_);
  EXPECT_EQ(closed(opens("file", O_RDWR | O_CREAT)), 0);
  EXPECT_EQ(opens("/proc/self/mem", O_RDWR), -EPERM);
  fs::current_path("/proc/self");
  EXPECT_EQ(opens("mem", O_RDWR), -EPERM) << "the device of another folder is known by now";
  fs::current_path(before);
}

// Files that Linux opens for writing here, below a folder of procfs.
std::vector<std::string> writable_below(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::int64_t file = entry.is_regular_file() && !entry.is_symlink()
                                  ? linux_opens(here, entry.path().c_str(), O_WRONLY, 0)
                                  : -ENOENT;
    if (closed(file) == 0) paths.push_back(entry.path());
  }
  return paths;
}

// The score of the process when memory is short, the name of a thread, labels for the files that it
// makes next: a process that writes changes itself, and a service thread is no process of its own.
TEST_F(GuardedOpen, files_of_processes_are_not_opened_for_writing) {
  const std::string thread = "/proc/self/task/" + std::to_string(::gettid());
  for (const std::string& folder : {std::string("/proc/self"), std::string("/proc/thread-self"),
                                    thread, thread + "/attr", std::string("/proc/self/attr")}) {
    SCOPED_TRACE(folder);
    if (!fs::exists(folder)) continue;  // attr: of Linux with security modules.
    const std::vector<std::string> paths = writable_below(folder);
    EXPECT_GE(paths.size(), 3u);
    for (const std::string& path : paths) {
      SCOPED_TRACE(path);
      EXPECT_EQ(closed(opens(path, O_WRONLY)), -EPERM);
      EXPECT_EQ(closed(opens(path, O_WRONLY | O_TRUNC | O_CREAT)), -EPERM);
      EXPECT_EQ(opens_by(path.c_str(), {.flags = O_WRONLY, .mode = 0, .resolve = 0}), -EPERM);
    }
  }
  EXPECT_EQ(closed(opens("/proc/self/oom_score_adj", O_RDWR)), -EPERM);
  EXPECT_EQ(closed(opens("/proc/self/oom_score_adj", O_RDONLY)), 0) << "may be read";
  EXPECT_EQ(closed(opens("/proc/self/none", O_RDWR | O_CREAT)), -ENOENT);
  const int score = ::open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(opens("/proc/self/fd/" + std::to_string(score), O_WRONLY), -EPERM);
  ::close(score);
}

// Settings of the machine lie in procfs, too.
TEST_F(GuardedOpen, settings_of_procfs_are_not_opened_for_writing) {
  if (::access("/proc/sys/kernel/domainname", W_OK) != 0) {
    GTEST_SKIP() << "this user may not change settings; run as root";
  }
  EXPECT_EQ(closed(opens("/proc/sys/kernel/domainname", O_WRONLY)), -EPERM);
  EXPECT_EQ(closed(opens("/proc/sys/kernel/domainname", O_RDONLY)), 0);
}

// A 0 that a thread writes there moves its process out of the group that limits it.
TEST_F(GuardedOpen, groups_of_processes_are_not_opened_for_writing) {
  expect_with_mount("cgroup2", other_, "cgroup2", 0, [&] {
    const std::string path = other_ / "cgroup.procs";
    if (closed(linux_opens(here, path.c_str(), O_WRONLY, 0)) != 0) return false;
    const bool refused = closed(opens(path, O_WRONLY)) == -EPERM;
    fs::current_path(other_);
    return refused && closed(opens("cgroup.procs", O_WRONLY)) == -EPERM &&
           closed(opens("cgroup.procs", O_RDONLY)) == 0;
  });
}

TEST_F(GuardedOpen, targets_of_magic_links_open_as_ever) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  EXPECT_EQ(closed(opens("/proc/self/fd/" + std::to_string(pipe[1]), O_WRONLY)), 0);
  const int file = ::open((other_ / "plain").c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
  EXPECT_EQ(closed(opens("/proc/self/fd/" + std::to_string(file), O_RDWR)), 0);
  EXPECT_EQ(closed(opens("/proc/self/root" + (other_ / "plain").string(), O_RDWR)), 0);
  for (const int number : {pipe[0], pipe[1], file}) ::close(number);
}

// A mount hides where a file comes from; its file system does not.
TEST_F(GuardedOpen, files_of_processes_are_found_behind_a_mount) {
  const std::string path = other_ / "mounted";
  ASSERT_EQ(closed(opens(path, O_RDWR | O_CREAT)), 0);
  expect_with_mount("/proc/self/oom_score_adj", path, nullptr, MS_BIND, [&] {
    return closed(opens(path, O_RDWR)) == -EPERM && closed(opens(path, O_RDONLY)) == 0;
  });
}

TEST_F(GuardedOpen, answers_as_linux_does) {
  struct Case {
    const char* name;
    int flags;
    unsigned mode = 0640;
  };
  const std::vector<Case> cases = {
      {"file", O_WRONLY},
      {"file", O_RDWR | O_TRUNC},
      {"file", O_RDWR | O_APPEND | O_CLOEXEC},
      {"file", O_RDWR | O_CREAT},
      {"file", O_RDWR | O_CREAT | O_EXCL},
      {"file", O_RDWR | O_DIRECTORY},
      {"file/", O_WRONLY},
      {"file/below", O_WRONLY | O_CREAT},
      {"new", O_WRONLY},
      {"new", O_WRONLY | O_CREAT, 0400},
      {"newer", O_RDWR | O_CREAT | O_EXCL, 07777},
      {"folder", O_RDWR},
      {"folder", O_WRONLY | O_CREAT},
      {"link", O_RDWR},
      {"link", O_RDWR | O_NOFOLLOW},
      {"link", O_RDWR | O_CREAT | O_NOFOLLOW},
      {"dangling", O_RDWR},
      {"dangling", O_RDWR | O_CREAT | O_EXCL},
      {"dangling", O_RDWR | O_CREAT},
      {"loop", O_RDWR},
      {"socket", O_RDWR},
      {"fifo", O_WRONLY | O_NONBLOCK},
      {"fifo", O_RDWR | O_NONBLOCK},
      {".", O_TMPFILE | O_RDWR},
      {"none/deeper", O_RDWR | O_CREAT},
      {"", O_RDWR | O_CREAT},
      {"file", O_RDWR | 1 << 30},  // A flag that Linux ignores.
      {"file", 3},
  };
  const auto furnish = [](const fs::path& at) {
    fs::create_directories(at / "folder");
    ::close(::open((at / "file").c_str(), O_CREAT | O_RDWR, 0600));
    fs::resize_file(at / "file", 5);
    fs::create_symlink("file", at / "link");
    fs::create_symlink("target", at / "dangling");
    fs::create_symlink("loop", at / "loop");
    ASSERT_EQ(::mkfifo((at / "fifo").c_str(), 0600), 0);
    ASSERT_EQ(::mknod((at / "socket").c_str(), S_IFSOCK | 0600, 0), 0);
  };
  for (const fs::path& parent : {folder_, other_}) {
    const fs::path theirs = parent / "theirs";
    const fs::path ours = parent / "ours";
    furnish(theirs);
    furnish(ours);
    for (const bool by_folder : {false, true}) {
      for (const Case& one : cases) {
        SCOPED_TRACE(testing::Message() << parent << " " << one.name << " " << one.flags);
        const auto both = [&](const fs::path& at, auto open) {
          const int start = ::open(at.c_str(), O_PATH);
          const std::string path = by_folder || *one.name == 0 ? one.name : (at / one.name);
          const std::int64_t opened = open(by_folder ? static_cast<std::uint64_t>(start) : here,
                                           path.c_str(), one.flags, one.mode);
          ::close(start);
          return opened;
        };
        const std::int64_t right = both(theirs, linux_opens);
        const std::int64_t got = both(ours, opens_at);
        if (right < 0 || got < 0) {
          EXPECT_EQ(got, right) << std::strerror(static_cast<int>(right < 0 ? -right : -got));
        } else {
          const auto flags_of = [](std::int64_t file) {
            return std::pair(::fcntl(static_cast<int>(file), F_GETFL) & ~O_NOFOLLOW,
                             ::fcntl(static_cast<int>(file), F_GETFD));
          };
          EXPECT_EQ(flags_of(got), flags_of(right));
          struct stat expected{};
          struct stat seen{};
          EXPECT_EQ(::fstat(static_cast<int>(right), &expected), 0);
          EXPECT_EQ(::fstat(static_cast<int>(got), &seen), 0);
          EXPECT_EQ(seen.st_mode, expected.st_mode);
          EXPECT_EQ(seen.st_size, expected.st_size);
        }
        closed(right);
        closed(got);
      }
    }
  }
}

TEST_F(GuardedOpen, a_structure_is_judged_as_linux_judges_it) {
  const std::string path = other_ / "file";
  const auto with = [&](std::uint64_t flags, std::uint64_t mode, std::uint64_t resolve = 0) {
    return closed(opens_by(path.c_str(), {.flags = flags, .mode = mode, .resolve = resolve}));
  };
  EXPECT_EQ(with(O_RDWR, 0), -ENOENT);
  EXPECT_EQ(with(O_RDWR | O_CREAT, 0600), 0);
  EXPECT_EQ(with(O_RDWR, 0), 0);
  EXPECT_EQ(with(O_RDONLY, 0), 0);
  EXPECT_EQ(with(O_RDWR, 0600), -EINVAL) << "a mode for no file";
  EXPECT_EQ(with(O_RDWR | O_CREAT, 010000), -EINVAL);
  EXPECT_EQ(with(O_RDWR | std::uint64_t{1} << 40, 0), -EINVAL);
  EXPECT_EQ(with(O_RDWR, 0, std::uint64_t{1} << 40), -EINVAL);
  EXPECT_EQ(with(O_RDWR | O_TRUNC, 0, RESOLVE_CACHED), -EAGAIN);
  EXPECT_EQ(with(O_RDWR, 0, RESOLVE_BENEATH), -EXDEV);
  const open_how how{.flags = O_RDWR, .mode = 0, .resolve = 0};
  EXPECT_EQ(opens_by(path.c_str(), how, sizeof(how) - 1), -EINVAL);
  EXPECT_EQ(opens_by(path.c_str(), how, 5000), -E2BIG);
  struct {
    open_how how;
    std::uint64_t later;
  } longer{how, 0};
  EXPECT_EQ(closed(opens_by(path.c_str(), longer.how, sizeof(longer))), 0);
  longer.later = 1;
  EXPECT_EQ(opens_by(path.c_str(), longer.how, sizeof(longer)), -E2BIG);
  const std::uint64_t nowhere[protocol::argument_count] = {here, as_word(path.c_str()), 8,
                                                           sizeof(how)};
  EXPECT_EQ(open_guarded(SYS_openat2, nowhere), -EFAULT);
}

// Double fetch: the flags change between two looks.
TEST_F(GuardedOpen, a_structure_that_changes_while_the_host_looks_opens_no_memory) {
  alignas(8) open_how how{.flags = O_RDONLY, .mode = 0, .resolve = 0};
  std::atomic<bool> ends{false};
  std::thread attacker([&] {
    for (bool writes = true; !ends.load(std::memory_order_relaxed); writes = !writes) {
      std::atomic_ref(how.flags).store(writes ? O_RDWR : O_RDONLY, std::memory_order_relaxed);
    }
  });
  int refused = 0;
  int opened = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::int64_t file = opens_by("/proc/self/mem", how);
    if (file < 0) {
      EXPECT_EQ(file, -EPERM);
      ++refused;
      continue;
    }
    EXPECT_EQ(::fcntl(static_cast<int>(file), F_GETFL) & O_ACCMODE, O_RDONLY);
    closed(file);
    ++opened;
  }
  ends = true;
  attacker.join();
  EXPECT_GT(refused, 0);
  EXPECT_GT(opened, 0);
}

TEST_F(GuardedOpen, a_path_that_is_nowhere_is_a_fault) {
  EXPECT_EQ(opens_at(here, reinterpret_cast<const char*>(8), O_RDWR), -EFAULT);
}

TEST_F(GuardedOpen, a_file_is_not_in_use_after_its_open) {
  const std::string path = other_ / "file";
  ASSERT_EQ(closed(opens(path, O_RDWR | O_CREAT)), 0);
  ASSERT_EQ(closed(opens(path, O_RDWR)), 0);
  const fs::path target = fs::canonical(path);
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    EXPECT_NE(fs::read_symlink(entry, gone), target);
  }
}

TEST_F(GuardedOpen, a_number_that_the_host_program_took_is_left_alone) {
  const std::string path = other_ / "file";
  ASSERT_EQ(closed(opens(path, O_RDWR | O_CREAT)), 0);
  std::thread([&] {
    std::vector<bool> before(1024);
    for (int number = 0; number < 1024; ++number) before[number] = is_own(number);
    ASSERT_EQ(closed(opens(path, O_RDWR)), 0);
    int place = 0;
    while (place < 1024 && (before[place] || !is_own(place))) ++place;
    ASSERT_LT(place, 1024) << "other mounts need one";
    // The host program closes it, and has a file of its own there.
    const int mine = ::memfd_create("mine", 0);
    ASSERT_EQ(::dup2(mine, place), place);
    ASSERT_EQ(closed(opens(path, O_RDWR)), 0);
    struct stat expected{};
    struct stat seen{};
    EXPECT_EQ(::fstat(mine, &expected), 0);
    EXPECT_EQ(::fstat(place, &seen), 0);
    EXPECT_EQ(seen.st_ino, expected.st_ino);
    ::close(place);
    ::close(mine);
  }).join();
}

TEST_F(GuardedOpen, without_a_number_left_answers_emfile) {
  const std::string path = other_ / "file";
  ASSERT_EQ(closed(opens(path, O_RDWR | O_CREAT)), 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  std::thread([&] {
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_EQ(opens(path, O_RDWR), -EMFILE);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(closed(opens(path, O_RDWR)), 0);
  }).join();
}

// Two attackers: one exchanges the path for a link to memory, the other puts memory under every
// number that an open may get. Through no descriptor may this word change.
TEST_F(GuardedOpen, a_race_opens_no_memory) {
  static std::atomic<std::uint64_t> target{7};
  const std::string path = other_ / "swapped";
  const std::string link = other_ / "link";
  ASSERT_EQ(closed(opens(path, O_RDWR | O_CREAT)), 0);
  fs::create_symlink("/proc/self/mem", link);
  ASSERT_EQ(closed(opens("/proc/self/comm", O_RDWR)), -EPERM);  // This thread has its number now.
  std::atomic<bool> ends{false};
  std::thread swaps([&] {
    while (!ends.load(std::memory_order_relaxed)) {
      ::syscall(SYS_renameat2, AT_FDCWD, path.c_str(), AT_FDCWD, link.c_str(), 2);
    }
  });
  const int memory = ::open("/proc/self/mem", O_PATH);
  const int first_free = ::dup(memory);
  ::close(first_free);
  std::thread replaces([&] {
    while (!ends.load(std::memory_order_relaxed)) {
      for (int number = first_free; number < first_free + 8; ++number) {
        // As a kernel's dup2: numbers of K2K's own answer EBADF, and only used ones are exchanged.
        if (is_own(number) || system_call(SYS_fcntl, number, F_GETFD) < 0) continue;
        if (system_call(SYS_dup2, memory, number) == number) system_call(SYS_close, number);
      }
    }
  });
  std::thread writes([&] {
    const std::uint64_t forged = 8;
    while (!ends.load(std::memory_order_relaxed)) {
      for (int number = first_free; number < first_free + 8; ++number) {
        system_call(SYS_pwrite64, number, &forged, sizeof(forged), &target);
      }
    }
  });
  int refused = 0;
  int opened = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < until) {
    const std::int64_t file = opens(path, O_RDWR);
    refused += file == -EPERM;
    opened += closed(file) == 0;
  }
  ends = true;
  swaps.join();
  replaces.join();
  writes.join();
  ::close(memory);
  EXPECT_EQ(target.load(), 7u);
  EXPECT_GT(refused, 0);
  EXPECT_GT(opened, 0);
}

}  // namespace
}  // namespace k2k::services
