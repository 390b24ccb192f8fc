// Goal: a policy file holds for kernels on every device: refused calls answer their work-items,
// files open below the roots only, reads of permitted files go on as without it, and an exchange of
// the path while the host looks at it opens nothing else.

#include <asm/unistd.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::policy_file_test {
namespace {

namespace fs = std::filesystem;

class PolicyFile : public DeviceUnderTest {
 protected:
  PolicyFile() {
    std::string pattern = testing::TempDir() + "k2k_policy_XXXXXX";
    folder_ = fs::canonical(::mkdtemp(pattern.data()));
    fs::create_directory(folder_ / "root");
    std::ofstream(folder_ / "root/file") << "inside";
    std::ofstream(folder_ / "secret") << "outside";
  }
  ~PolicyFile() override { fs::remove_all(folder_); }

  Runtime start_under(const std::string& policy) {
    const std::string path = folder_ / "policy.toml";
    std::ofstream(path) << policy << "[audit]\nfile = \"" << (folder_ / "audit").string() << "\"\n";
    return start([&path](RuntimeConfig& config) {
      config.server.policy = server::CallPolicy::file;
      config.server.policy_file = path;
    });
  }
  [[nodiscard]] std::string roots() const {
    return "[files]\nroots = [\"" + (folder_ / "root").string() + "\"]\n";
  }
  fs::path folder_;
};
K2K_EVERY_DEVICE(PolicyFile);

TEST_P(PolicyFile, functions_that_it_does_not_name_are_refused) {
  Runtime runtime = start_under("[calls]\nrefuse = [\"write\"]\n[functions]\nallow = [\"one\"]\n");
  for (const HostClass host_class : {HostClass::may_block, HostClass::never_blocks}) {
    const auto function = [] { return 1; };
    ASSERT_TRUE(runtime.provide("one", function, host_class).ok());
    ASSERT_TRUE(runtime.provide("two", function, host_class).ok());
    std::array<int, 3> errors{};
    launch(runtime, 1, 1, [&] {
      errors[0] = k2k::host_call<int>(k2k::work_item, "one").error();
      errors[1] = k2k::host_call<int>(k2k::work_item, "two").error();
      errors[2] = k2k::print("not permitted\n").error();
    });
    EXPECT_EQ(errors, (std::array<int, 3>{0, EPERM, EPERM}));
    ASSERT_TRUE(runtime.withdraw("one").ok());
    ASSERT_TRUE(runtime.withdraw("two").ok());
  }
  std::ifstream audit(folder_ / "audit");
  const std::string text{std::istreambuf_iterator<char>(audit), {}};
  EXPECT_NE(text.find(": host_call: EPERM: the policy permits no host function with the id 0x"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(": write: EPERM: the policy refuses the call"), std::string::npos) << text;
}

TEST_P(PolicyFile, refused_calls_are_answered_and_the_others_served) {
  Runtime runtime = start_under("[calls]\nrefuse = [\"getpid\", \"pread64\"]\n");
  const TemporaryFile file("0123456789");
  std::array<long, 3> answers{};
  launch(runtime, 1, 1, [&] {
    char letters[4] = {};
    answers[0] = k2k::getpid(k2k::work_item);
    answers[1] = k2k::pread(k2k::work_item, file.fd, letters, 4, 0);
    answers[2] = k2k::read(k2k::work_item, file.fd, letters, 4);
  });
  EXPECT_EQ(answers, (std::array<long, 3>{-EPERM, -EPERM, 4}));
  std::ifstream audit(folder_ / "audit");
  std::string line;
  std::getline(audit, line);
  EXPECT_NE(line.find(": getpid: EPERM: the policy refuses the call"), std::string::npos) << line;
}

TEST_P(PolicyFile, files_open_below_the_roots_only) {
  Runtime runtime = start_under(roots());
  const std::string inside = folder_ / "root/file";
  const std::string outside = folder_ / "root/../secret";
  std::array<long, 6> answers{};
  char letters[8] = {};
  launch(runtime, 1, 1, [&] {
    const k2k::Reply file = k2k::open(k2k::work_item, inside.c_str(), O_RDONLY);
    answers[0] = k2k::pread(k2k::work_item, file.fd(), letters, 6, 0);
    k2k::close(k2k::work_item, file.fd());
    answers[1] = k2k::open(k2k::work_item, outside.c_str(), O_RDONLY);
    answers[2] = k2k::openat(k2k::work_item, AT_FDCWD, "/proc/self/mem", O_RDWR);
    answers[3] =
        k2k::syscall(k2k::work_item, k2k::strong, __NR_link, inside.c_str(), outside.c_str());
    answers[4] = k2k::socket(k2k::work_item, AF_UNIX, SOCK_STREAM, 0);
    answers[5] = k2k::syscall(k2k::work_item, k2k::strong, __NR_kill, ::getpid(), SIGKILL);
  });
  EXPECT_EQ(answers, (std::array<long, 6>{6, -EACCES, -EACCES, -EACCES, -EACCES, -EPERM}));
  EXPECT_STREQ(letters, "inside");
}

// Double fetch: the path changes between two looks of the host.
TEST_P(PolicyFile, a_path_that_changes_while_the_host_checks_it_opens_no_secret) {
  Runtime runtime = start_under(roots());
  const std::string inside = folder_ / "root/file";
  fs::create_directory(folder_ / "else");
  std::ofstream(folder_ / "else/file") << "outside";
  const std::string outside = folder_ / "else/file";
  ASSERT_EQ(outside.size(), inside.size());
  char path[PATH_MAX] = {};
  std::strcpy(path, inside.c_str());
  std::atomic<bool> ends{false};
  std::thread attacker([&] {
    for (bool out = true; !ends.load(std::memory_order_relaxed); out = !out) {
      const std::string& next = out ? outside : inside;
      for (std::size_t at = 0; at < inside.size(); ++at) {
        std::atomic_ref(path[at]).store(next[at], std::memory_order_relaxed);
      }
    }
  });
  std::atomic<int> leaked{0};
  launch(runtime, 1, 32, [&] {
    for (int round = 0; round < 20; ++round) {
      const k2k::Reply file = k2k::openat(k2k::work_item, AT_FDCWD, path, O_RDONLY);
      if (!file.ok()) continue;
      char letters[8] = {};
      k2k::pread(k2k::work_item, file.fd(), letters, 6, 0);
      if (std::strcmp(letters, "inside") != 0) leaked.fetch_add(1);
      k2k::close(k2k::work_item, file.fd());
    }
  });
  ends = true;
  attacker.join();
  EXPECT_EQ(leaked.load(), 0);
}

}  // namespace
}  // namespace k2k::conformance::policy_file_test
