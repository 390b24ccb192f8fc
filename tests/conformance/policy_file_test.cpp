// Goal: a policy file holds for kernels on every device: refused calls answer their work-items,
// files open below the roots only, reads of permitted files go on as without it, and an exchange of
// the path while the host looks at it opens nothing else.

#include <asm/unistd.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "k2k/demand_region.hpp"
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
K2K_BEHIND_WALLS(PolicyFile);

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

// Pointers to memory of the host program: none is followed, and each leaves a line.
TEST_P(PolicyFile, calls_reach_no_memory_but_that_of_kernels) {
  Runtime runtime = start_under("[memory]\nranges = [\"kernels\"]\n");
  const TemporaryFile file("0123456789");
  const Pair pipe;
  constexpr std::size_t page = 4096;
  std::vector<char> secret(4 * page, 's');
  char* const whole_page =
      secret.data() + page - reinterpret_cast<std::uintptr_t>(secret.data()) % page;
  auto* const shared = static_cast<char*>(runtime.allocate_shared(page).value());
  auto* const own = static_cast<char*>(runtime.allocate(page).value());
  const Result<DemandRegion> region = DemandRegion::zero(runtime, page);
  ASSERT_TRUE(region) << region.error().message;
  const auto twice = [](In<char> letters) { return 2 * letters.size(); };
  ASSERT_TRUE(runtime.provide("twice", twice).ok());

  std::array<long, 9> permitted{};
  std::array<long, 11> refused{};
  std::array<int, 2> functions{};
  launch(runtime, 1, 1, [&] {
    char letters[4] = {};
    permitted[0] = k2k::pread(k2k::work_item, file.fd, letters, 4, 0);
    permitted[1] = k2k::pread(k2k::work_item, file.fd, shared, 4, 0);
    permitted[2] = k2k::pread(k2k::work_item, file.fd, own, 4, 0);
    permitted[3] = k2k::pread(k2k::work_item, file.fd, region.value().data(), 4, 0);
    permitted[4] = k2k::write(k2k::work_item, pipe.out(), "text", 4);
    permitted[5] = k2k::access(k2k::work_item, "/", R_OK);
    permitted[6] = k2k::print_to(k2k::work_item, pipe.out(), "{}", 7).error();
    const iovec parts[2] = {{letters, 2}, {shared, 4}};
    permitted[7] = k2k::preadv(k2k::work_item, file.fd, parts, 2, 0);
    permitted[8] = k2k::syscall(k2k::work_item, k2k::strong, __NR_preadv, file.fd, parts, 2, 0);
    refused[0] = k2k::pread(k2k::work_item, file.fd, secret.data(), 4, 0);
    refused[1] = k2k::read(k2k::work_item, file.fd, secret.data(), 4);
    refused[2] = k2k::write(k2k::work_item, pipe.out(), secret.data(), 4);
    refused[3] = k2k::pread(k2k::work_item, file.fd, shared, page + 1, 0);
    refused[4] = k2k::munmap(k2k::work_item, whole_page, page);
    refused[5] = k2k::syscall(k2k::work_item, k2k::strong, __NR_getcwd, secret.data(), page);
    refused[6] = k2k::access(k2k::work_item, secret.data(), R_OK);
    refused[7] = k2k::syscall(k2k::work_item, k2k::strong, __NR_mprotect, whole_page, page, 0);
    const iovec piece{secret.data(), 4};
    refused[8] = k2k::syscall(k2k::work_item, k2k::strong, __NR_readv, file.fd, &piece, 1);
    refused[9] = k2k::preadv(k2k::work_item, file.fd, &piece, 1, 0);
    refused[10] = k2k::syscall(k2k::work_item, k2k::strong, __NR_vmsplice, pipe.out(), &piece, 1);
    functions[0] = k2k::host_call<std::size_t>(k2k::work_item, "twice", k2k::in(shared, 4)).error();
    functions[1] =
        k2k::host_call<std::size_t>(k2k::work_item, "twice", k2k::in(secret.data(), 4)).error();
  });
  EXPECT_EQ(permitted, (std::array<long, 9>{4, 4, 4, 4, 4, 0, 0, 6, 6}));
  EXPECT_EQ(refused, (std::array<long, 11>{-EFAULT, -EFAULT, -EFAULT, -EFAULT, -EFAULT, -EFAULT,
                                           -EFAULT, -EFAULT, -EFAULT, -EFAULT, -EFAULT}));
  EXPECT_EQ(functions, (std::array<int, 2>{0, EFAULT}));
  EXPECT_EQ(std::count(secret.begin(), secret.end(), 's'), static_cast<long>(secret.size()));
  runtime.free_shared(shared);
  runtime.free(own);
  long after = 0;
  launch(runtime, 1, 1, [&] { after = k2k::pread(k2k::work_item, file.fd, shared, 4, 0); });
  EXPECT_EQ(after, -EFAULT) << "it was given back";
  std::ifstream audit(folder_ / "audit");
  const std::string text{std::istreambuf_iterator<char>(audit), {}};
  EXPECT_NE(text.find(": pread64: EFAULT: argument 1 names 4 bytes at 0x"), std::string::npos)
      << text;
  EXPECT_NE(text.find(": readv: EFAULT: a piece names 4 bytes at 0x"), std::string::npos) << text;
  EXPECT_NE(text.find(": vmsplice: EFAULT: a piece names 4 bytes at 0x"), std::string::npos)
      << text;
}

// Calls whose structures have a form of their own (services/rules/call_copies.hpp).
TEST_P(PolicyFile, options_words_and_pieces_work_within_memory_of_kernels) {
  Runtime runtime = start_under("[memory]\nranges = [\"kernels\"]\n");
  const Pair pipe;
  int sockets[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  int outside = 0;
  struct Words {
    int value;
    int length;
    struct ::futex_waitv waiter;
    iovec pieces[2];
    char letters[8];
  };
  auto* const shared = static_cast<Words*>(runtime.allocate_shared(sizeof(Words)).value());
  *shared = {};
  std::array<long, 8> answers{};
  launch(runtime, 1, 1, [&] {
    using k2k::work_item;
    answers[0] = k2k::setsockopt(work_item, sockets[0], SOL_SOCKET, SO_PASSCRED, &sockets[0], 4);
    shared->value = 1;
    answers[1] = k2k::setsockopt(work_item, sockets[0], SOL_SOCKET, SO_PASSCRED, &shared->value, 4);
    shared->value = 0;
    shared->length = 4;
    answers[2] = k2k::getsockopt(work_item, sockets[0], SOL_SOCKET, SO_PASSCRED, &shared->value,
                                 &shared->length);
    answers[3] =
        k2k::getsockopt(work_item, sockets[0], SOL_SOCKET, SO_PASSCRED, &outside, &shared->length);
    shared->waiter.uaddr = reinterpret_cast<std::uint64_t>(&shared->length);
    shared->waiter.flags = FUTEX_32;
    answers[4] = k2k::syscall(work_item, k2k::strong, __NR_futex_waitv, &shared->waiter, 1, 0,
                              nullptr, CLOCK_MONOTONIC);
    shared->waiter.uaddr = reinterpret_cast<std::uint64_t>(&outside);
    answers[5] = k2k::syscall(work_item, k2k::strong, __NR_futex_waitv, &shared->waiter, 1, 0,
                              nullptr, CLOCK_MONOTONIC);
    std::memcpy(shared->letters, "letters", 8);
    shared->pieces[0] = {shared->letters, 8};
    answers[6] = k2k::syscall(work_item, k2k::strong, __NR_vmsplice, pipe.out(), shared->pieces, 1);
    shared->pieces[1] = {&outside, 4};
    answers[7] = k2k::syscall(work_item, k2k::strong, __NR_vmsplice, pipe.out(), shared->pieces, 2);
  });
  EXPECT_EQ(answers, (std::array<long, 8>{-EFAULT, 0, 0, -EFAULT, -EAGAIN, -EFAULT, 8, -EFAULT}));
  EXPECT_EQ(shared->value, 1);
  EXPECT_EQ(outside, 0);
  runtime.free_shared(shared);
  for (const int socket : sockets) ::close(socket);
}

// Of elements in two missing pages, and of pieces in missing pages.
TEST_P(PolicyFile, structures_in_missing_pages_are_brought_in_and_judged) {
  Runtime runtime = start_under("[memory]\nranges = [\"kernels\"]\n");
  constexpr std::size_t page = 4096;
  const TemporaryFile file("0123456789");
  int sockets[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  std::vector<char> secret(page, 's');
  auto* const shared = static_cast<char*>(runtime.allocate_shared(page).value());
  const auto into = DemandRegion::zero(runtime, 4 * page);
  ASSERT_TRUE(into) << into.error().message;
  auto* const missing = into.value().as<char>();

  std::vector<char> source(8 * page);
  const auto put = [&](std::size_t at, const auto& structure) {
    std::memcpy(source.data() + at, &structure, sizeof(structure));
  };
  // The vectors cross from one page into the next.
  put(page - 16, iovec{missing + page - 2, 4});
  put(page, iovec{shared, 4});
  put(3 * page - 16, iovec{shared, 4});
  put(3 * page, iovec{secret.data(), 4});
  msghdr message{};
  message.msg_iov = reinterpret_cast<iovec*>(shared + 256);
  message.msg_iovlen = 1;
  const iovec piece{missing + 3 * page - 2, 4};
  std::memcpy(shared + 256, &piece, sizeof(piece));
  put(5 * page - 24, message);
  message.msg_name = secret.data();
  message.msg_namelen = 8;
  put(7 * page - 24, message);
  const auto region = DemandRegion::copy_of(runtime, source.data(), source.size());
  ASSERT_TRUE(region) << region.error().message;
  auto* const structures = region.value().as<char>();

  std::array<long, 4> answers{};
  launch(runtime, 1, 1, [&] {
    const auto call = [](long number, int descriptor, void* structure, long count) {
      return long{
          k2k::syscall(k2k::work_item, k2k::strong, number, descriptor, structure, count, 0)};
    };
    answers[0] = call(__NR_preadv, file.fd, structures + page - 16, 2);
    answers[1] = call(__NR_preadv, file.fd, structures + 3 * page - 16, 2);
    answers[2] = call(__NR_sendmsg, sockets[0], structures + 5 * page - 24, 0);
    answers[3] = call(__NR_sendmsg, sockets[0], structures + 7 * page - 24, 0);
  });
  EXPECT_EQ(answers, (std::array<long, 4>{8, -EFAULT, 4, -EFAULT}));
  EXPECT_EQ(std::string(shared, 4), "4567");
  EXPECT_EQ(std::count(secret.begin(), secret.end(), 's'), static_cast<long>(secret.size()));
  runtime.free_shared(shared);
  for (const int socket : sockets) ::close(socket);
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
