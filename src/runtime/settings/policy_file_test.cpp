// Goal: a policy file has its documented meaning, and a mistake in it gives one line with the
// place, the mistake and the expected text.

#include "runtime/settings/policy_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "calls/host_call.hpp"
#include "calls/rows.hpp"
#include "k2k/runtime.hpp"
#include "runtime/settings/config.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k {
namespace {

class PolicyFileTest : public testing::Test {
 protected:
  PolicyFileTest()
      : path_(testing::TempDir() + "k2k_policy_" + std::to_string(getpid()) + ".toml") {}
  ~PolicyFileTest() override { ::unlink(path_.c_str()); }

  // The message for a file with this text; "" if it is accepted. The path is left out.
  std::string complaint(const std::string& text) {
    std::ofstream(path_) << text;
    const auto rules = read_policy(path_);
    if (rules) return "";
    EXPECT_EQ(rules.error().code, EINVAL);
    EXPECT_TRUE(rules.error().message.starts_with(path_)) << rules.error().message;
    return rules.error().message.substr(path_.size());
  }
  std::string path_;
};

TEST_F(PolicyFileTest, has_its_documented_meaning) {
  std::ofstream(path_) << "default = \"none\"\n"
                          "[calls]\n"
                          "allow = [\"pread64\", \"openat\", \"socket\", \"rt_sigqueueinfo\"]\n"
                          "refuse = [\"write\"]\n"
                          "[files]\n"
                          "roots = [\"/usr\"]\n"
                          "[sockets]\n"
                          "families = [\"inet\"]\n"
                          "[signals]\n"
                          "targets = [\"self\", 77]\n"
                          "[audit]\n"
                          "file = \"/dev/null\"\n";
  const auto rules = read_policy(path_);
  ASSERT_TRUE(rules) << rules.error().message;
  const auto judged = [&](long number, std::uint64_t first) {
    services::Request request;
    request.number = static_cast<std::uint16_t>(number);
    request.arguments[0] = first;
    return rules.value()->judge(request);
  };
  EXPECT_EQ(judged(SYS_pread64, 0), 0);
  EXPECT_EQ(judged(SYS_write, 0), -EPERM);
  EXPECT_EQ(judged(SYS_getpid, 0), -EPERM);
  EXPECT_TRUE(rules.value()->confines(SYS_openat));
  EXPECT_EQ(judged(SYS_socket, AF_INET), 0);
  EXPECT_EQ(judged(SYS_socket, AF_INET6), -EACCES);
  EXPECT_EQ(judged(SYS_rt_sigqueueinfo, 77), 0);
  EXPECT_EQ(judged(SYS_rt_sigqueueinfo, 78), -EPERM);
}

TEST_F(PolicyFileTest, permits_the_functions_that_it_names_or_all_of_them) {
  const auto judged = [&](const std::string& text, const char* function) {
    std::ofstream(path_) << text << "[audit]\nfile = \"/dev/null\"\n";
    const auto rules = read_policy(path_);
    EXPECT_TRUE(rules) << rules.error().message;
    if (!rules) return std::int64_t{1};
    services::Request request;
    request.number = calls::host_call_number;
    request.arguments[calls::host_id_word] = calls::host_id(function);
    request.arguments[calls::host_signature_word] = 1;  // Of a print: its descriptor.
    return rules.value()->judge(request);
  };
  EXPECT_EQ(judged("default = \"none\"\n", "weigh"), 0) << "the program has permitted it";
  EXPECT_EQ(judged("[functions]\nallow = [\"weigh\", \"sum\"]\n", "weigh"), 0);
  EXPECT_EQ(judged("[functions]\nallow = [\"weigh\", \"sum\"]\n", "sum"), 0);
  EXPECT_EQ(judged("[functions]\nallow = [\"weigh\", \"sum\"]\n", "other"), -EPERM);
  EXPECT_EQ(judged("[functions]\nallow = []\n", "weigh"), -EPERM);
  // A print is a write.
  EXPECT_EQ(judged("[functions]\nallow = []\n", calls::print_name), 0);
  EXPECT_EQ(judged("[calls]\nrefuse = [\"write\"]\n", calls::print_name), -EPERM);
  EXPECT_EQ(judged("default = \"none\"\n", calls::print_name), -EPERM);
  EXPECT_EQ(judged("default = \"none\"\n[calls]\nallow = [\"write\"]\n", calls::print_name), 0);
}

TEST_F(PolicyFileTest, names_a_mistake_its_place_and_the_expected_text) {
  EXPECT_EQ(complaint("[calls]\nrefuse = [\"write\", \"socke\"]\n"),
            ":2:20: calls.refuse names 'socke'; did you mean 'socket'? expected: a name that k2k "
            "calls lists");
  EXPECT_EQ(
      complaint("[calls]\nallow = [7]\n"),
      ":2:10: calls.allow names a value that is no text; expected: a name that k2k calls lists");
  EXPECT_EQ(complaint("[calls]\nallow = \"read\"\n"),
            ":2:9: calls.allow is no array; expected: an array of names of calls");
  EXPECT_EQ(complaint("default = \"some\"\n"),
            ":1:11: default has an entry that is not permitted, 'some'; expected: one of any, "
            "io, known_only, none");
  EXPECT_EQ(complaint("[sockets]\nfamilies = [\"ipx\"]\n"),
            ":2:13: sockets.families has an entry that is not permitted, 'ipx'; expected: one of "
            "unix, inet, inet6, netlink, packet, vsock, alg, bluetooth, can, xdp");
  EXPECT_EQ(
      complaint("[files]\nroots = [\"usr\"]\n"),
      ":2:10: files.roots names 'usr' is not an absolute path; expected: the absolute path of "
      "a folder");
  EXPECT_EQ(
      complaint("[functions]\nallow = [\"\"]\n"),
      ":2:10: functions.allow names '', which no program can provide; expected: the name of a "
      "host function");
  EXPECT_EQ(complaint("[functions]\nallow = [\"k2k.print\"]\n"),
            ":2:10: functions.allow names 'k2k.print', which no program can provide; expected: the "
            "name of a host function");
  EXPECT_EQ(complaint("[functions]\nallow = [7]\n"),
            ":2:10: functions.allow has an entry that is no text; expected: the name of a host "
            "function");
  EXPECT_EQ(complaint("[functions]\nrefuse = []\n"),
            ":2:10: unknown key 'functions.refuse'; expected: allow");
  EXPECT_EQ(complaint("[signals]\ntargets = [0]\n"),
            ":2:12: signals.targets has an entry that is no process; expected: \"self\" or the "
            "number of a process");
  EXPECT_EQ(complaint("[audit]\nfile = \"log\"\n"),
            ":2:8: audit.file is no path; expected: the absolute path of a file");
  EXPECT_EQ(complaint("[call]\n"),
            ":1:1: unknown key 'call'; expected: default, calls, files, sockets, signals, memory, "
            "functions, audit");
  EXPECT_EQ(complaint("[calls]\nrefused = []\n"),
            ":2:11: unknown key 'calls.refused'; expected: allow, refuse");
  EXPECT_EQ(complaint("calls = 3\n"),
            ":1:9: 'calls' is no section; expected: [calls] and, on the next line, allow = ...");
  const std::string torn = complaint("[calls\n");
  EXPECT_TRUE(torn.starts_with(":1:7: ")) << torn;
  EXPECT_NE(torn.find("; expected: TOML, such as [calls]"), std::string::npos) << torn;
}

TEST_F(PolicyFileTest, names_memory_by_its_address_or_as_that_of_kernels) {
  const auto wrong = [](const std::string& shown) {
    return ":2:11: memory.ranges has an entry that is no range of memory" + shown +
           "; expected: \"kernels\", or an address and a number of bytes, such as "
           "\"0x7f5000000000+65536\"";
  };
  EXPECT_EQ(complaint("[memory]\nranges = [\"kernels\", \"0x7f5000000000+65536\"]\n"), "");
  EXPECT_EQ(complaint("[memory]\nranges = []\n"), "");
  EXPECT_EQ(complaint("[memory]\nranges = [7]\n"), wrong(""));
  for (const char* const text :
       {"kernel", "0x10", "0x10+", "0x10+0", "0x10+-1", "0x+8", "10+8", "0x10+8 ", "0x1g+8",
        "0xffffffffffffffff+1", "0x10+99999999999999999999", "+"}) {
    EXPECT_EQ(complaint(fmt::format("[memory]\nranges = [\"{}\"]\n", text)),
              wrong(fmt::format(", '{}'", text)));
  }
  EXPECT_EQ(complaint("[memory]\nranges = \"kernels\"\n"),
            ":2:10: memory.ranges is no array; expected: an array of ranges");
  EXPECT_EQ(complaint("[memory]\nrange = []\n"),
            ":2:9: unknown key 'memory.range'; expected: ranges");
  EXPECT_EQ(complaint("[calls]\nallow = [\"readv\", \"recvmsg\"]\n[memory]\nranges = []\n"), "");
  EXPECT_EQ(complaint("[calls]\nallow = [\"move_pages\"]\n[memory]\nranges = [\"kernels\"]\n"),
            ":2:10: calls.allow names move_pages, whose memory cannot be confined to "
            "memory.ranges; remove one of the two");
  const std::string unused = complaint(
      "default = \"none\"\n[calls]\nallow = [\"getpid\"]\n"
      "[memory]\nranges = [\"kernels\"]\n");
  EXPECT_TRUE(
      unused.starts_with(":5:10: the list is not empty, but no call is permitted by which "
                         "memory can be named; name one of read, write, open, "))
      << unused;
  EXPECT_TRUE(unused.ends_with(", ... in calls.allow, or remove the list")) << unused;
}

TEST(MemoryOfPolicy, is_told_and_no_audit_log_is_made) {
  const std::string audit = "[audit]\nfile = \"/k2k-none/log\"\n";
  const auto told = [&](const std::string& text) { return memory_of_policy(text + audit); };
  EXPECT_FALSE(told("default = \"any\"\n").value().is_confined);
  const PolicyMemory none = told("[memory]\nranges = []\n").value();
  EXPECT_TRUE(none.is_confined);
  EXPECT_FALSE(none.of_kernels);
  EXPECT_TRUE(none.ranges.empty());
  const PolicyMemory both =
      told("[memory]\nranges = [\"kernels\", \"0x1000+16\", \"0x3000+4096\"]\n").value();
  EXPECT_TRUE(both.of_kernels);
  ASSERT_EQ(both.ranges.size(), 2u);
  EXPECT_EQ(both.ranges[1].address, 0x3000u);
  EXPECT_EQ(both.ranges[1].bytes, 4096u);
  EXPECT_EQ(told("[memory]\nranges = 7\n").error().code, EINVAL);
  EXPECT_EQ(memory_of_policy("/k2k-none.toml").error().code, ENOENT);
}

TEST_F(PolicyFileTest, refuses_contradictions) {
  EXPECT_EQ(
      complaint("[calls]\nallow = [\"read\"]\nrefuse = [\"read\"]\n"),
      ":2:10: calls.allow names read, and so does calls.refuse in line 3; remove one of the two");
  EXPECT_EQ(complaint("[calls]\nallow = [\"execve\"]\n"),
            ":2:10: calls.allow names execve, which every policy refuses: it replaces the host "
            "process; remove it");
  EXPECT_EQ(complaint("[calls]\nallow = [\"link\"]\n[files]\nroots = [\"/usr\"]\n"),
            ":2:10: calls.allow names link, whose paths cannot be confined to files.roots; remove "
            "one of the two");
  EXPECT_EQ(
      complaint("[files]\nroots = [\"/usr\"]\n[sockets]\nfamilies = [\"unix\"]\n"),
      ":4:12: sockets.families names unix, whose sockets have paths that files.roots does not "
      "confine; remove one of the two");
  EXPECT_EQ(complaint("default = \"none\"\n[sockets]\nfamilies = [\"inet\"]\n"),
            ":3:12: the list is not empty, but no call is permitted by which a socket can be made; "
            "name one of socket, socketpair in calls.allow, or remove the list");
  EXPECT_EQ(complaint("default = \"none\"\n[sockets]\nfamilies = []\n"), "");
  EXPECT_EQ(
      complaint("default = \"none\"\n[calls]\nallow = [\"read\"]\n[files]\nroots = [\"/usr\"]\n"),
      ":5:9: the list is not empty, but no call is permitted by which a path can be reached; name "
      "one of open, stat, lstat, access, rename, mkdir, rmdir, creat, unlink, readlink, openat, "
      "mkdirat, newfstatat, unlinkat, renameat, readlinkat, faccessat, renameat2, statx, "
      "faccessat2 in calls.allow, or remove the list");
  EXPECT_EQ(
      complaint("default = \"none\"\n[calls]\nallow = [\"stat\"]\n[files]\nroots = [\"/usr\"]\n"),
      "");
  EXPECT_EQ(complaint("default = \"none\"\n[files]\nroots = []\n"), "");
}

TEST_F(PolicyFileTest,
       with_the_default_io_signals_reach_this_process_alone_unless_it_names_others) {
  const auto answers = [&](const std::string& text) {
    std::ofstream(path_) << text << "[audit]\nfile = \"/dev/null\"\n";
    const auto rules = read_policy(path_);
    EXPECT_TRUE(rules) << rules.error().message;
    std::vector<std::int64_t> found;
    for (const long number : {SYS_mount, SYS_rt_sigqueueinfo, SYS_openat}) {
      services::Request request;
      request.number = static_cast<std::uint16_t>(number);
      request.arguments[0] = 77;
      found.push_back(rules.value()->judge(request));
    }
    return found;
  };
  EXPECT_EQ(answers("default = \"io\"\n"), (std::vector<std::int64_t>{-EPERM, -EPERM, 0}));
  EXPECT_EQ(answers("default = \"io\"\n[calls]\nallow = [\"mount\"]\n[signals]\ntargets = [77]\n"),
            (std::vector<std::int64_t>{0, 0, 0}));
}

TEST_F(PolicyFileTest, may_be_the_setting_itself) {
  const std::string text = "default = \"none\"\n[calls]\nallow = [\"pread64\"]\n";
  ConfigInputs inputs;
  inputs.flags = {{"server.policy", text, "flag --server-policy"}};
  const auto loaded = load_config(inputs);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.server.policy, server::CallPolicy::file);
  const auto rules = read_policy(loaded->config.server.policy_file);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_TRUE(rules.value()->permits(SYS_pread64));
  EXPECT_TRUE(rules.value()->refuses(SYS_read));
  const auto wrong = read_policy("[calls]\nallow = [\"raed\"]");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "server.policy:2:10: calls.allow names 'raed'; did you mean 'read'? expected: a name "
            "that k2k calls lists");
}

TEST_F(PolicyFileTest, ends_lines_as_toml_does) {
  EXPECT_EQ(complaint("[calls]\r\nrefuse = [\"write\"]\r\n"), "");
  EXPECT_EQ(complaint("[calls]\r\nrefuse = [\"wriet\"]\r\n"),
            ":2:11: calls.refuse names 'wriet'; did you mean 'write'? expected: a name that k2k "
            "calls lists");
  const std::string bare = complaint("[calls]\rrefuse = [\"write\"]\r");
  EXPECT_TRUE(bare.starts_with(":1:")) << bare;
  EXPECT_NE(bare.find("; expected: TOML, such as [calls]"), std::string::npos) << bare;
}

TEST_F(PolicyFileTest, has_an_end_if_it_is_the_setting_itself) {
  const auto loaded_with = [](std::size_t bytes) {
    const std::string begin = "default = \"io\" #";
    ConfigInputs inputs;
    inputs.flags = {
        {"server.policy", begin + std::string(bytes - begin.size(), '-'), "flag --server-policy"}};
    const auto loaded = load_config(inputs);
    return loaded ? "" : loaded.error().message;
  };
  EXPECT_EQ(loaded_with(4095), "");
  const std::string said = loaded_with(4096);
  EXPECT_NE(said.find("the path of a policy that ends with .toml, or its text of at most 4095 "
                      "bytes"),
            std::string::npos)
      << said;
}

TEST_F(PolicyFileTest, is_named_by_the_setting_and_ends_the_start_of_a_runtime) {
  ConfigInputs inputs;
  inputs.flags = {{"server.policy", path_, "flag --server-policy"}};
  const auto loaded = load_config(inputs);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.server.policy, server::CallPolicy::file);
  EXPECT_EQ(loaded->config.server.policy_file, path_);
  RuntimeConfig config = loaded->config;
  config.operator_settings = false;
  const auto missing = Runtime::create(config);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, path_ +
                                         ": No such file or directory; fix the file or name "
                                         "another with --server-policy");
  std::ofstream(path_) << "[calls]\nallow = [\"nothing\"]\n";
  EXPECT_EQ(Runtime::create(config).error().code, EINVAL);
}

}  // namespace
}  // namespace k2k
