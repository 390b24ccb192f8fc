// Goal: programs print the same under libk2k_io.so as without it.

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>

#include "shim/tests/programs_fixture.hpp"

namespace k2k::shim {
namespace {

// With the router library of the tests, and the statistics on standard error.
std::string preloaded(const std::string& more = "") {
  return std::string("LD_PRELOAD=" K2K_SHIM " K2K_IO_LIBRARY=" K2K_SHIM_BOUNCE " K2K_IO_STATS=1 ") +
         more;
}

class Scenes : public Programs, public testing::WithParamInterface<const char*> {
 protected:
  void expect_same_as_without(const std::string& environment) const {
    const Outcome without = play_in(K2K_SHIM_PROBE, GetParam(), "A=1");
    ASSERT_EQ(without.status, 0) << without.error;
    ASSERT_NE(without.out, "");
    const Outcome with = play_in(K2K_SHIM_PROBE, GetParam(), environment);
    EXPECT_EQ(with.status, 0) << with.error;
    EXPECT_EQ(with.out, without.out);
    EXPECT_EQ(stat_of(with, "without_router"), 0) << with.error;
    if (GetParam() != std::string("constructors")) {
      EXPECT_GT(stat_of(with, "reads") + stat_of(with, "writes") + stat_of(with, "by_kernel"), 0)
          << with.error;
    }
  }
};

TEST_P(Scenes, look_to_the_program_as_without_the_library) { expect_same_as_without(preloaded()); }

TEST_P(Scenes, look_the_same_where_the_kernel_cannot_address_the_memory) {
  expect_same_as_without(preloaded("K2K_BOUNCE_WHOLE=1"));
}

TEST_P(Scenes, look_the_same_by_the_router) {
  expect_same_as_without("LD_PRELOAD=" K2K_SHIM " K2K_IO_STATS=1");
}

TEST_P(Scenes, look_the_same_where_the_router_reads_ahead) {
  expect_same_as_without("LD_PRELOAD=" K2K_SHIM " K2K_IO_STATS=1 K2K_IO_READ_AHEAD_PAGES=64");
}

INSTANTIATE_TEST_SUITE_P(, Scenes,
                         testing::Values("positions", "locks", "lock_of_a_stream", "numbers",
                                         "vectors", "host_reads", "fortified", "errors", "signals",
                                         "threads", "appending", "killed_writers", "forking",
                                         "writing", "ranges", "constructors", "by_number",
                                         "closing_by_number", "cancelled_by_number"),
                         [](const auto& one) { return std::string(one.param); });

TEST_F(Programs, twins_end_with_the_last_descriptor_of_a_file_and_not_before) {
  const Outcome outcome = play_in(K2K_SHIM_PROBE, "locks", preloaded());
  EXPECT_EQ(stat_of(outcome, "forgotten"), 4) << outcome.error;
  EXPECT_EQ(stat_of(outcome, "kept"), 3) << outcome.error;
}

TEST_F(Programs, calls_by_number_are_served_like_calls_by_name_and_counted) {
  const Outcome served = play_in(K2K_SHIM_PROBE, "by_number", preloaded());
  EXPECT_EQ(stat_of(served, "by_number"), 16) << served.error;
  EXPECT_EQ(stat_of(served, "reads") + stat_of(served, "writes") + stat_of(served, "by_kernel"), 16)
      << served.error;
  EXPECT_EQ(stat_of(served, "forgotten"), 1) << served.error;
  const Outcome closed = play_in(K2K_SHIM_PROBE, "closing_by_number", preloaded());
  EXPECT_EQ(stat_of(closed, "forgotten"), 5) << closed.error;
  EXPECT_EQ(stat_of(closed, "kept"), 1) << closed.error;
  EXPECT_EQ(stat_of(closed, "rings"), 0) << closed.error;
}

TEST_F(Programs, their_own_rings_are_counted_without_the_router_library_s) {
  const Outcome asked = play_in(K2K_SHIM_PROBE, "ring_by_number", preloaded());
  EXPECT_EQ(asked.out, play_in(K2K_SHIM_PROBE, "ring_by_number", "A=1").out);
  EXPECT_EQ(stat_of(asked, "rings"), 1) << asked.error;
  const Outcome routed =
      play_in(K2K_SHIM_PROBE, "vectors", "LD_PRELOAD=" K2K_SHIM " K2K_IO_STATS=1");
  EXPECT_EQ(stat_of(routed, "rings"), 0) << routed.error;
  EXPECT_EQ(stat_of(routed, "by_number"), 0) << routed.error;
}

TEST_F(Programs, their_own_reads_are_reported_while_pages_are_held) {
  const Outcome without = play_in(K2K_SHIM_PROBE, "host_reads", "A=1");
  const Outcome told = play_in(K2K_SHIM_PROBE, "host_reads", preloaded("K2K_BOUNCE_HOLDS=1"));
  EXPECT_EQ(told.out, without.out);
  EXPECT_EQ(stat_of(told, "pages_kept"), 19600) << told.error;
  EXPECT_EQ(stat_of(told, "pages_held"), 0) << told.error;
  const Outcome holds_none = play_in(K2K_SHIM_PROBE, "host_reads", preloaded());
  EXPECT_EQ(stat_of(holds_none, "pages_kept"), 0) << holds_none.error;
}

TEST_F(Programs, keep_pages_that_were_read_ahead_and_that_they_use) {
  const Outcome outcome =
      play_in(K2K_SHIM_PROBE, "host_reads",
              "LD_PRELOAD=" K2K_SHIM " K2K_IO_STATS=1 K2K_IO_READ_AHEAD_PAGES=1024");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  if (stat_of(outcome, "pages_ahead") == 0) GTEST_SKIP() << "no direct transfers in this folder";
  EXPECT_GT(stat_of(outcome, "pages_kept"), 0) << outcome.error;
  EXPECT_EQ(stat_of(outcome, "pages_held"), 0) << "the file is closed: " << outcome.error;
}

TEST_F(Programs, read_nothing_ahead_if_the_kernel_is_to_do_it) {
  const Outcome outcome = play_in(K2K_SHIM_PROBE, "host_reads",
                                  "LD_PRELOAD=" K2K_SHIM
                                  " K2K_IO_STATS=1 K2K_IO_READ_AHEAD_PAGES=1024 "
                                  "K2K_IO_CONSERVATIVE=1");
  EXPECT_EQ(stat_of(outcome, "pages_ahead"), 0) << outcome.error;
  EXPECT_EQ(stat_of(outcome, "pages_evicted"), 0) << outcome.error;
  EXPECT_GT(stat_of(outcome, "reads"), 0) << outcome.error;
}

TEST_F(Programs, the_table_of_ranges_is_full_at_256) {
  const Outcome outcome = play_in(K2K_SHIM_PROBE, "full", preloaded());
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_NE(outcome.out.find("256 registered, then -28\n"
                             "twice: -17\n"
                             "of none: -2\n"
                             "gone: 0\n"
                             "again: 0\n"
                             "null: -22, empty: -22, around: -22\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("failed"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("no kind: -22 -22\nafter all are gone: 0\nread: 100\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(stat_of(outcome, "reads"), 257);
}

TEST_F(Programs, without_a_router_library_libc_serves_and_one_line_gives_the_reason) {
  const Outcome without = play_in(K2K_SHIM_PROBE, "vectors", "A=1");
  const Outcome with = play_in(K2K_SHIM_PROBE, "vectors",
                               "LD_PRELOAD=" K2K_SHIM " K2K_IO_LIBRARY=/nowhere.so K2K_IO_STATS=1");
  EXPECT_EQ(with.out, without.out);
  EXPECT_GT(stat_of(with, "without_router"), 0);
  EXPECT_EQ(stat_of(with, "reads"), 0);
  const std::string says = "k2k_io: /nowhere.so: ";
  const std::size_t at = with.error.find(says);
  ASSERT_NE(at, std::string::npos) << with.error;
  EXPECT_EQ(with.error.find(says, at + 1), std::string::npos) << with.error;
  EXPECT_NE(with.error.find("Install it beside libk2k_io.so, or name it in K2K_IO_LIBRARY"),
            std::string::npos)
      << with.error;
}

TEST_F(Programs, a_variable_with_a_value_that_is_not_permitted_is_named_once_and_ignored) {
  struct Case {
    const char* variable;
    const char* setting;
    const char* value;
    const char* permitted;
  };
  const char* const pages = "a whole number from 0 to 1048576 (pages of 4 KiB)";
  for (const Case& each :
       {Case{"K2K_IO_READ_AHEAD_PAGES", "files.read_ahead_pages", "many", pages},
        Case{"K2K_IO_READ_AHEAD_PAGES", "files.read_ahead_pages", "1048577", pages},
        Case{"K2K_FILES_EXCLUSIVE", "files.exclusive", "maybe", "true or false"},
        Case{"K2K_IO_EXCLUSIVE", "files.exclusive", "2", "true or false"}}) {
    const std::string set = std::string(each.variable) + "=" + each.value;
    const Outcome outcome =
        play_in(K2K_SHIM_PROBE, "vectors", "LD_PRELOAD=" K2K_SHIM " K2K_IO_STATS=1 " + set);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_EQ(stat_of(outcome, "without_router"), 0) << outcome.error;
    EXPECT_EQ(stat_of(outcome, "writes_direct"), 0) << outcome.error;
    const std::string says = std::string("k2k_io: environment ") + each.variable + ": " +
                             each.setting + " = '" + each.value +
                             "'; permitted: " + each.permitted + "; the variable is ignored\n";
    const std::size_t at = outcome.error.find(says);
    ASSERT_NE(at, std::string::npos) << outcome.error;
    EXPECT_EQ(outcome.error.find(says, at + 1), std::string::npos) << "once";
  }
}

TEST_F(Programs, a_request_for_statistics_that_is_not_permitted_is_named) {
  const std::string preload = "LD_PRELOAD=" K2K_SHIM " K2K_IO_STATS=";
  const Outcome wrong = play_in(K2K_SHIM_PROBE, "vectors", preload + "maybe");
  EXPECT_EQ(wrong.status, 0);
  EXPECT_EQ(wrong.error,
            "k2k_io: environment K2K_IO_STATS = 'maybe'; permitted: true or false, or the absolute "
            "path of a file; the variable is ignored\n");
  for (const char* const none : {"0", "off", "no", "false"}) {
    EXPECT_EQ(play_in(K2K_SHIM_PROBE, "vectors", preload + none).error, "") << none;
  }
}

TEST_F(Programs, a_library_that_is_no_router_library_is_named) {
  const Outcome with =
      play_in(K2K_SHIM_PROBE, "positions", "LD_PRELOAD=" K2K_SHIM " K2K_IO_LIBRARY=libm.so.6");
  EXPECT_NE(with.error.find("k2k_io: libm.so.6: it lacks the symbol k2k_io_table_get"),
            std::string::npos)
      << with.error;
}

// A relative LD_PRELOAD, and a program that goes to another folder before it needs the router.
TEST_F(Programs, load_the_router_from_beside_the_library_wherever_they_are) {
  const std::string lent = folder() + "/lib";
  const std::string elsewhere = folder() + "/elsewhere";
  std::filesystem::create_directory(lent);
  std::filesystem::create_directory(elsewhere);
  std::filesystem::copy(K2K_SHIM, lent + "/libk2k_io.so");
  // If the library loads this file, the error names it.
  std::ofstream(elsewhere + "/libk2k_io_router.so") << "planted";
  const std::string play = std::string(K2K_SHIM_PROBE) + " chdir_first " + elsewhere;
  Outcome outcome = run("LD_PRELOAD=lib/libk2k_io.so", play);
  EXPECT_NE(outcome.error.find("k2k_io: " + lent + "/libk2k_io_router.so: No such file"),
            std::string::npos)
      << outcome.error;
  outcome = run("LD_PRELOAD=lib/libk2k_io.so K2K_IO_LIBRARY=./libk2k_io_router.so", play);
  EXPECT_NE(outcome.error.find("must be an absolute path or a name without slashes"),
            std::string::npos)
      << outcome.error;
}

TEST_F(Programs, a_program_of_host_memory_alone_never_loads_the_router_library) {
  const Outcome outcome =
      run("LD_PRELOAD=" K2K_SHIM " K2K_IO_LIBRARY=/nowhere.so K2K_IO_STATS=" + folder() +
              "/stats LD_DEBUG=files",
          "dd if=/dev/zero of=out bs=4096 count=10 status=none");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.error.find("libk2k_io.so"), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.find("nowhere"), std::string::npos) << outcome.error;
  // dd closes its standard error before its end.
  EXPECT_NE(text_of(folder() + "/stats").find(" reads=0 writes=0 "), std::string::npos);
}

TEST_F(Programs, the_library_needs_libc_and_nothing_else) {
  const Outcome outcome = run("A=1", "readelf -d " K2K_SHIM);
  if (outcome.status != 0) GTEST_SKIP() << "readelf is not here: apt install binutils";
  std::istringstream lines(outcome.out);
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    ++needed;
    EXPECT_TRUE(line.find("[libc.so") != std::string::npos ||
                line.find("[ld-linux") != std::string::npos)
        << line;
  }
  EXPECT_GT(needed, 0);
}

// The target of the library's jump: `jmp *word(%rip)` is six bytes.
template <class Function>
void* jumps_to(Function* function) {
  const auto* const code = reinterpret_cast<const unsigned char*>(function);
  if (code[0] != 0xff || code[1] != 0x25) return nullptr;
  std::int32_t distance;
  std::memcpy(&distance, code + 2, sizeof distance);
  void* target;
  std::memcpy(&target, code + 6 + distance, sizeof target);
  return target;
}

TEST(Shim, a_call_is_a_jump_to_libc_until_memory_is_registered) {
  void* const library = dlopen(K2K_SHIM, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* const through =
      reinterpret_cast<ssize_t (*)(int, void*, std::size_t)>(dlsym(library, "read"));
  auto* const add =
      reinterpret_cast<int (*)(void*, std::size_t)>(dlsym(library, "k2k_io_register"));
  void* const libc = dlsym(RTLD_NEXT, "read");
  static char some[16];
  ASSERT_NE(jumps_to(through), nullptr);
  EXPECT_NE(jumps_to(through), libc) << "no call was made yet";
  EXPECT_EQ(through(-1, some, sizeof some), -1);
  EXPECT_EQ(jumps_to(through), libc);
  EXPECT_EQ(add(some, sizeof some), 0);
  EXPECT_NE(jumps_to(through), libc);
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  char host[4];
  EXPECT_EQ(through(file, host, sizeof host), 4);
  EXPECT_EQ(std::string(host + 1, 3), "ELF");
  EXPECT_NE(jumps_to(through), libc);
  close(file);
}

class FirstCalls : public Programs {};

TEST_F(FirstCalls, go_to_the_next_library_in_the_order) {
  const Outcome outcome =
      run("LD_PRELOAD=" K2K_SHIM ":" K2K_FIRST_CALLS, "dd if=/dev/zero bs=4 count=1 status=none");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.out, "bbbb");
}

TEST_F(FirstCalls, need_no_lock_of_the_loader) {
  const Outcome without = run("K2K_SCENES=" K2K_FIRST_CALLS, K2K_CUDA_LOADER " first calls");
  ASSERT_EQ(without.status, 0) << without.error;
  ASSERT_EQ(without.out, "3 ELF 900 0\n");
  const Outcome with = run("LD_PRELOAD=" K2K_SHIM " K2K_SCENES=" K2K_FIRST_CALLS,
                           K2K_CUDA_LOADER " first calls", 20);
  EXPECT_EQ(with.status, 0) << with.error;
  EXPECT_EQ(with.out, without.out);
}

class Tools : public Programs, public testing::WithParamInterface<const char*> {};

TEST_P(Tools, print_the_same_and_leave_the_same_files) {
  const std::string script = GetParam();
  const std::string tool = script.substr(0, script.find(' '));
  if (run("A=1", "sh -c 'command -v " + tool + "'").status != 0) {
    GTEST_SKIP() << tool << " is not here";
  }
  std::string outs[2];
  for (const bool with : {false, true}) {
    const std::string work = folder() + "/work";
    std::filesystem::remove_all(work);
    std::filesystem::create_directory(work);
    const Outcome outcome = run(with ? "LD_PRELOAD=" K2K_SHIM : "A=1",
                                "sh -c 'cd work && (" + script + ") 2>&1; echo status $?'");
    EXPECT_EQ(outcome.status, 0);
    outs[with ? 1 : 0] = outcome.out;
  }
  EXPECT_EQ(outs[1], outs[0]);
  EXPECT_NE(outs[0].find("status 0"), std::string::npos) << outs[0];
}

INSTANTIATE_TEST_SUITE_P(
    , Tools,
    testing::Values(
        "dd if=/bin/sh of=copy bs=1000 status=none && cksum copy && "
        "dd if=copy bs=3k skip=5 count=7 status=none | cksum",
        "git init -q . && git config user.email a@b && git config user.name a && "
        "cp -r /usr/include/linux . && git add . && git -c gc.auto=0 commit -q -m x "
        "--date=2020-01-01T00:00:00 && rm linux/fs.h && git status --short && git fsck 2>&1",
        "sqlite3 data.db \"create table t(a integer primary key, b text); "
        "with recursive n(i) as (select 1 union all select i+1 from n where i < 20000) "
        "insert into t select i, hex(i*i) from n; create index x on t(b); pragma integrity_check; "
        "select count(*), sum(length(b)) from t; vacuum;\" && cksum data.db"),
    [](const auto& one) {
      const std::string script = one.param;
      return script.substr(0, script.find(' '));
    });

}  // namespace
}  // namespace k2k::shim
