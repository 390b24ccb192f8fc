// Goal: a policy judges by number, address family and target, resolves paths below its roots
// whatever a kernel tries, and writes a line for each call that it refuses.

#include "services/rules/call_rules.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "calls/rows.hpp"
#include "calls/table.hpp"
#include "services/opens/served_file.hpp"
#include "services/services_fixture.hpp"

namespace k2k::services {
namespace {

namespace fs = std::filesystem;

Request request_with(long number, std::initializer_list<std::uint64_t> words) {
  Request request;
  request.number = static_cast<std::uint16_t>(number);
  std::copy(words.begin(), words.end(), request.arguments);
  return request;
}

// A folder with a root, a file in it, and a secret beside it.
class CallRulesTest : public testing::Test {
 protected:
  CallRulesTest() {
    std::string pattern = testing::TempDir() + "k2k_rules_XXXXXX";
    folder_ = fs::canonical(::mkdtemp(pattern.data()));
    fs::create_directories(folder_ / "root/inner");
    std::ofstream(folder_ / "root/file") << "inside";
    std::ofstream(folder_ / "secret") << "outside";
    wanted.roots = {(folder_ / "root").string()};
    wanted.audit_file = (folder_ / "audit").string();
  }
  ~CallRulesTest() override { fs::remove_all(folder_); }

  void make() {
    auto made = CallRules::create(wanted);
    ASSERT_TRUE(made) << made.error().message;
    rules = std::move(made).value();
  }
  [[nodiscard]] std::string at(const char* name) const { return (folder_ / name).string(); }
  // The result of an open, which is closed again.
  std::int64_t opens(const std::string& path, int flags = O_RDONLY, int folder = AT_FDCWD) {
    const std::int64_t file = rules->perform(
        request_with(SYS_openat, {static_cast<std::uint64_t>(folder), as_word(path.c_str()),
                                  static_cast<std::uint64_t>(flags), 0600}));
    if (file < 0) return file;
    ::close(static_cast<int>(file));
    return 0;
  }
  // Opens the path while a thread repeats the attack, until it was opened and refused: on a busy
  // machine the attacker may lose its core for long, whichever way the path leads then. All that is
  // opened is inside. The result is the errors of the refusals.
  std::set<std::int64_t> refusals_under(const std::function<void()>& attack,
                                        const std::string& path) {
    std::atomic<bool> ends{false};
    std::thread attacker([&] {
      while (!ends.load(std::memory_order_relaxed)) attack();
    });
    int inside = 0;
    std::set<std::int64_t> refusals;
    const Instant patience = now() + std::chrono::seconds(20);
    for (int round = 0; round < 2'000 || ((inside == 0 || refusals.empty()) && now() < patience);
         ++round) {
      const std::int64_t file =
          rules->perform(request_with(SYS_open, {as_word(path.c_str()), O_RDONLY, 0}));
      if (file < 0) {
        refusals.insert(file);
        continue;
      }
      char text[8] = {};
      EXPECT_GT(::read(static_cast<int>(file), text, 7), 0);
      ::close(static_cast<int>(file));
      EXPECT_STREQ(text, "inside");
      ++inside;
    }
    ends = true;
    attacker.join();
    EXPECT_GT(inside, 0);
    EXPECT_FALSE(refusals.empty());
    return refusals;
  }
  [[nodiscard]] std::string audit() const {
    std::ifstream file(folder_ / "audit");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
  WantedRules wanted;
  std::shared_ptr<CallRules> rules;
};

TEST_F(CallRulesTest, calls_are_judged_by_number) {
  wanted = {.refused = {SYS_getpid}, .audit_file = wanted.audit_file};
  make();
  EXPECT_EQ(rules->judge(request_with(SYS_getpid, {})), -EPERM);
  EXPECT_EQ(rules->judge(request_with(SYS_getppid, {})), 0);
  EXPECT_EQ(audit(), "k2k audit: wave 0 lane 0: getpid: EPERM: the policy refuses the call\n");
  wanted = {.otherwise = WantedRules::Otherwise::none,
            .allowed = {SYS_pread64},
            .audit_file = wanted.audit_file};
  make();
  EXPECT_TRUE(rules->permits(SYS_pread64));
  for (std::uint16_t number = 0; number < call_number_end; ++number) {
    EXPECT_EQ(rules->permits(number), number == SYS_pread64) << number;
  }
  EXPECT_TRUE(rules->permits(calls::nop_number));
  wanted = {.otherwise = WantedRules::Otherwise::known_only,
            .refused = {SYS_read},
            .audit_file = wanted.audit_file};
  make();
  EXPECT_EQ(rules->judge(request_with(SYS_write, {})), 0);
  EXPECT_EQ(rules->judge(request_with(SYS_read, {})), -EPERM);
  EXPECT_EQ(rules->judge(request_with(SYS_ptrace, {})), -ENOSYS);
  ASSERT_GE(calls::find(SYS_membarrier), 0);
  EXPECT_EQ(rules->judge(request_with(SYS_membarrier, {})), -ENOSYS) << "a row, but not basic";
}

TEST_F(CallRulesTest, the_policy_io_leaves_the_machine_and_other_processes_alone) {
  wanted = io_rules();
  wanted.audit_file = at("audit");
  make();
  for (std::uint16_t number = 0; number < call_number_end; ++number) {
    const calls::Entry* const entry = calls::entry_of(number);
    const bool known = entry != nullptr;
    const bool privileged = known && entry->access == calls::Access::privileged;
    EXPECT_EQ(rules->refuses(number), !known || privileged) << number;
  }
  EXPECT_EQ(rules->judge(request_with(SYS_reboot, {})), -EPERM);
  EXPECT_EQ(rules->judge(request_with(SYS_process_vm_readv, {1})), -EPERM);
  EXPECT_EQ(rules->judge(request_with(calls::entry_numbers_end, {})), -ENOSYS);
  EXPECT_EQ(rules->judge(request_with(SYS_rt_sigqueueinfo, {1, SIGUSR1})), -EPERM);
  const auto self = static_cast<std::uint64_t>(::getpid());
  EXPECT_EQ(rules->judge(request_with(SYS_rt_sigqueueinfo, {self, SIGUSR1})), 0);
  for (const long number : {SYS_pread64, SYS_socket, SYS_mmap, SYS_clock_gettime, SYS_getppid}) {
    EXPECT_EQ(rules->judge(request_with(number, {AF_UNIX})), 0) << number;
    EXPECT_TRUE(rules->permits(static_cast<std::uint16_t>(number))) << number;
  }
  EXPECT_NE(audit().find("reboot: EPERM: the call acts on the machine or on other processes; "
                         "server.policy = \"any\" permits it\n"),
            std::string::npos)
      << audit();
}

TEST_F(CallRulesTest, sockets_are_judged_by_their_family) {
  wanted = {.families = {{AF_INET}}, .audit_file = wanted.audit_file};
  make();
  EXPECT_EQ(rules->judge(request_with(SYS_socket, {AF_INET, SOCK_STREAM, 0})), 0);
  EXPECT_EQ(rules->judge(request_with(SYS_socket, {AF_INET6, SOCK_STREAM, 0})), -EACCES);
  EXPECT_EQ(rules->judge(request_with(SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0})), -EACCES);
}

TEST_F(CallRulesTest, roots_close_the_family_whose_addresses_are_paths) {
  make();
  EXPECT_EQ(rules->judge(request_with(SYS_socket, {AF_INET, SOCK_STREAM, 0})), 0);
  EXPECT_EQ(rules->judge(request_with(SYS_socket, {AF_UNIX, SOCK_STREAM, 0})), -EACCES);
  EXPECT_EQ(rules->judge(request_with(SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0})), -EACCES);
}

TEST_F(CallRulesTest, signals_are_judged_by_their_target) {
  wanted = {.targets = {{0, 77}}, .audit_file = wanted.audit_file};
  make();
  const auto self = static_cast<std::uint64_t>(::getpid());
  EXPECT_EQ(rules->judge(request_with(SYS_rt_sigqueueinfo, {self, SIGUSR1})), 0);
  EXPECT_EQ(rules->judge(request_with(SYS_rt_sigqueueinfo, {77, SIGUSR1})), 0);
  EXPECT_EQ(rules->judge(request_with(SYS_rt_sigqueueinfo, {78, SIGUSR1})), -EPERM);
  EXPECT_EQ(rules->judge(request_with(SYS_rt_tgsigqueueinfo, {78, 78, SIGUSR1})), -EPERM);
  EXPECT_EQ(rules->judge(request_with(SYS_fcntl, {0, F_SETOWN, self})), 0);
  EXPECT_EQ(rules->judge(request_with(SYS_fcntl, {0, F_SETOWN, 78})), -EPERM);
  EXPECT_EQ(rules->judge(request_with(SYS_fcntl, {0, F_SETOWN, 0 - self})), -EPERM) << "a group";
  EXPECT_EQ(rules->judge(request_with(SYS_fcntl, {0, F_GETFL})), 0);
  EXPECT_EQ(rules->judge(request_with(SYS_ioctl, {0, 0x8901})), -EPERM);
}

TEST_F(CallRulesTest, under_roots_each_call_with_a_path_is_confined_or_refused) {
  make();
  for (std::uint16_t number = 0; number < call_number_end; ++number) {
    if (!RootedFiles::takes_path(number)) continue;
    EXPECT_EQ(rules->confines(number), RootedFiles::confines(number)) << number;
    if (rules->confines(number)) {
      const int row = calls::find(number);
      const bool in_place = row >= 0 && calls::shapes[row].blocking == calls::Blocking::never;
      EXPECT_FALSE(in_place) << number << ": perform() may wait";
      EXPECT_NE(calls::entry_of(number)->blocking, calls::Blocking::never) << number;
      EXPECT_EQ(rules->judge(request_with(number, {})), 0) << number;
    } else {
      EXPECT_EQ(rules->judge(request_with(number, {})), -EACCES) << number;
    }
  }
  EXPECT_EQ(rules->judge(request_with(500, {})), -EACCES) << "a call of a newer Linux";
}

TEST_F(CallRulesTest, files_open_below_a_root_and_nowhere_else) {
  make();
  EXPECT_EQ(opens(at("root/file")), 0);
  EXPECT_EQ(opens(at("root/inner/../file")), 0);
  EXPECT_EQ(opens(at("root/new"), O_CREAT | O_WRONLY), 0);
  EXPECT_EQ(opens(at("root")), 0);
  EXPECT_EQ(opens(at("root/none")), -ENOENT);
  EXPECT_EQ(opens(at("secret")), -EACCES);
  EXPECT_EQ(opens(at("root/../secret")), -EACCES);
  EXPECT_EQ(opens(at("root/inner/../../secret")), -EACCES);
  EXPECT_EQ(opens(at("rootless")), -EACCES);
  EXPECT_EQ(opens("/proc/self/mem", O_RDWR), -EACCES);
  EXPECT_EQ(opens("/proc/self/root/etc/passwd"), -EACCES);
  EXPECT_EQ(opens(""), -ENOENT);
  EXPECT_EQ(opens(std::string(5000, 'a')), -ENAMETOOLONG);
  EXPECT_EQ(rules->perform(request_with(SYS_open, {8, O_RDONLY})), -EFAULT);
  EXPECT_NE(audit().find("openat: EACCES: '/proc/self/mem'\n"), std::string::npos) << audit();
}

TEST_F(CallRulesTest, links_lead_nowhere_else) {
  make();
  fs::create_symlink("../secret", folder_ / "root/relative");
  fs::create_symlink(at("secret"), folder_ / "root/absolute");
  const Descriptor secret(::open(at("secret").c_str(), O_RDONLY | O_CLOEXEC));
  fs::create_symlink("/proc/self/fd/" + std::to_string(secret.number()), folder_ / "root/magic");
  fs::create_symlink("/proc/self/root", folder_ / "root/all");
  fs::create_symlink("/proc/self/cwd", folder_ / "root/here");
  fs::create_directory_symlink("..", folder_ / "root/above");
  fs::create_symlink("inner/../file", folder_ / "root/within");
  EXPECT_EQ(opens(at("root/within")), 0);
  for (const char* const link :
       {"root/relative", "root/absolute", "root/magic", "root/above/secret", "root/all/etc/passwd",
        "root/all", "root/here"}) {
    EXPECT_EQ(opens(at(link)), -EACCES) << link;
    EXPECT_EQ(opens(at(link), O_CREAT | O_WRONLY), -EACCES) << link;
  }
}

TEST_F(CallRulesTest, a_descriptor_of_a_folder_is_a_start_only_below_a_root) {
  make();
  const Descriptor inner(::open(at("root/inner").c_str(), O_PATH | O_CLOEXEC));
  set_own(inner.number(), false);  // The program's.
  EXPECT_EQ(opens("../file", O_RDONLY, inner.number()), -EACCES) << "above the descriptor";
  std::ofstream(folder_ / "root/inner/deep") << "inside";
  EXPECT_EQ(opens("deep", O_RDONLY, inner.number()), 0);
  const Descriptor outer(::open(folder_.c_str(), O_PATH | O_CLOEXEC));
  set_own(outer.number(), false);
  EXPECT_EQ(opens("secret", O_RDONLY, outer.number()), -EACCES);
  EXPECT_EQ(opens("root/file", O_RDONLY, outer.number()), -EACCES);
  set_own(inner.number(), true);
  EXPECT_EQ(opens("deep", O_RDONLY, inner.number()), -EBADF) << "K2K's own";
}

TEST_F(CallRulesTest, the_other_calls_with_paths_do_as_linux_does) {
  make();
  struct stat status{};
  const std::string file = at("root/file");
  const std::string secret = at("secret");
  EXPECT_EQ(rules->perform(request_with(SYS_stat, {as_word(file.c_str()), as_word(&status)})), 0);
  EXPECT_EQ(status.st_size, 6);
  EXPECT_EQ(rules->perform(request_with(SYS_stat, {as_word(secret.c_str()), as_word(&status)})),
            -EACCES);
  struct statx extended{};
  EXPECT_EQ(rules->perform(request_with(
                SYS_statx, {static_cast<std::uint64_t>(AT_FDCWD), as_word(file.c_str()), 0,
                            STATX_SIZE, as_word(&extended)})),
            0);
  EXPECT_EQ(extended.stx_size, 6u);
  EXPECT_EQ(rules->perform(request_with(SYS_access, {as_word(file.c_str()), R_OK})), 0);
  EXPECT_EQ(rules->perform(request_with(SYS_access, {as_word(secret.c_str()), R_OK})), -EACCES);
  const std::string made = at("root/made");
  EXPECT_EQ(rules->perform(request_with(SYS_mkdir, {as_word((made + "/").c_str()), 0700})), 0);
  EXPECT_TRUE(fs::is_directory(made));
  EXPECT_EQ(rules->perform(request_with(SYS_rmdir, {as_word(made.c_str())})), 0);
  EXPECT_EQ(rules->perform(request_with(SYS_mkdir, {as_word(at("made").c_str()), 0700})), -EACCES);
  fs::create_symlink("file", folder_ / "root/link");
  char target[16] = {};
  EXPECT_EQ(rules->perform(request_with(SYS_readlink,
                                        {as_word(at("root/link").c_str()), as_word(target), 16})),
            4);
  EXPECT_STREQ(target, "file");
  EXPECT_EQ(
      rules->perform(request_with(SYS_lstat, {as_word(at("root/link").c_str()), as_word(&status)})),
      0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  EXPECT_EQ(rules->perform(
                request_with(SYS_rename, {as_word(file.c_str()), as_word(at("stolen").c_str())})),
            -EACCES);
  EXPECT_EQ(rules->perform(request_with(
                SYS_rename, {as_word(file.c_str()), as_word(at("root/inner/f").c_str())})),
            0);
  EXPECT_EQ(rules->perform(request_with(SYS_unlink, {as_word(at("root/inner/f").c_str())})), 0);
  EXPECT_EQ(rules->perform(request_with(SYS_unlink, {as_word(secret.c_str())})), -EACCES);
  EXPECT_EQ(rules->perform(request_with(SYS_rmdir, {as_word(at("root/inner/..").c_str())})),
            -EACCES);
  EXPECT_TRUE(fs::exists(secret));
}

// Another thread swaps a folder of the path for a link that leads out.
TEST_F(CallRulesTest, a_race_never_opens_the_secret) {
  make();
  fs::create_directory(folder_ / "root/swapped");
  std::ofstream(folder_ / "root/swapped/secret") << "inside";
  fs::create_directory_symlink("..", folder_ / "root/outward");
  refusals_under(
      [&] {
        ::syscall(SYS_renameat2, AT_FDCWD, at("root/swapped").c_str(), AT_FDCWD,
                  at("root/outward").c_str(), 2 /* RENAME_EXCHANGE */);
      },
      at("root/swapped/secret"));
}

// Another thread moves a folder out of the root while a path goes through it and back by `..`.
TEST_F(CallRulesTest, a_folder_that_moves_out_of_the_root_leads_no_path_out) {
  make();
  fs::create_directories(folder_ / "root/outer/deep");
  std::ofstream(folder_ / "root/outer/secret") << "inside";
  const std::set<std::int64_t> refusals = refusals_under(
      [&] {
        ::rename(at("root/outer/deep").c_str(), at("moved").c_str());
        ::rename(at("moved").c_str(), at("root/outer/deep").c_str());
      },
      at("root/outer/deep/../secret"));
  for (const std::int64_t error : refusals) {
    EXPECT_TRUE(error == -EACCES || error == -ENOENT) << error;
  }
}

// The root is what it was at start, not what its name leads to.
TEST_F(CallRulesTest, a_root_that_vanishes_has_no_files_and_its_name_leads_to_no_others) {
  make();
  EXPECT_EQ(opens(at("root/file")), 0);
  fs::rename(at("root"), at("moved"));
  EXPECT_EQ(opens(at("root/file")), 0) << "the folder has another name";
  fs::create_directory(at("root"));
  std::ofstream(at("root/other")) << "planted";
  EXPECT_EQ(opens(at("root/other")), -ENOENT);
  EXPECT_EQ(opens(at("root/new"), O_RDWR | O_CREAT), 0) << "in the folder that was named";
  EXPECT_TRUE(fs::exists(at("moved/new")));
  fs::remove_all(at("moved"));
  EXPECT_EQ(opens(at("root/file")), -ENOENT);
  EXPECT_EQ(opens(at("root/new"), O_RDWR | O_CREAT), -ENOENT);
  EXPECT_FALSE(fs::exists(at("root/new")));
}

TEST_F(CallRulesTest, a_served_file_below_a_root_is_renewed_by_an_open) {
  make();
  int renewed = 0;
  const auto file = ServedFile::create(at("root/file"), [&] { ++renewed; });
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(opens(at("root/file")), 0);
  EXPECT_EQ(renewed, 1);
}

TEST_F(CallRulesTest, a_flood_of_refusals_fills_no_disk_and_a_path_forges_no_line) {
  make();
  EXPECT_EQ(opens("/none\nk2k audit: forged"), -EACCES);
  for (int round = 0; round < 5'000; ++round) EXPECT_EQ(opens("/none"), -EACCES);
  const std::string text = audit();
  EXPECT_NE(text.find("'/none\\x0ak2k audit: forged'\n"), std::string::npos) << text;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 10 * audit_lines_a_second);
}

TEST_F(CallRulesTest, a_root_is_an_absolute_folder_without_processes) {
  const auto complaint = [this](const std::string& root) {
    wanted.roots = {root};
    const auto made = CallRules::create(wanted);
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(complaint("relative"), "'relative' is not an absolute path");
  EXPECT_EQ(complaint(at("none")), "'" + at("none") + "': No such file or directory");
  EXPECT_EQ(complaint(at("secret")), "'" + at("secret") + "': Not a directory");
  EXPECT_EQ(complaint("/"),
            "'/' contains files that reach the memory of processes; name folders beside it");
  EXPECT_EQ(complaint("/proc/self/fd"),
            "'/proc/self/fd' contains files that reach the memory of "
            "processes; name folders beside it");
}

}  // namespace
}  // namespace k2k::services
