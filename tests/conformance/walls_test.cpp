// Goal: behind server.walls kernels are served as without them, only the threads that serve are
// behind the walls, and what was chosen at start stays: a thread cannot leave its walls.

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>

#include "io/file/refused_calls_fixture.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::walls_test {
namespace {

namespace fs = std::filesystem;

class Walls : public DeviceUnderTest {
 protected:
  void SetUp() override {
    if (GetParam().on_units) GTEST_SKIP() << "units that serve have no walls";
  }
  Runtime start_behind_walls(const std::function<void(RuntimeConfig&)>& adjust = {}) {
    return start([&](RuntimeConfig& config) {
      config.server.walls = server::WallMode::strict;
      if (adjust) adjust(config);
    });
  }
};
K2K_EVERY_DEVICE(Walls);

// Threads of this process by name: how many there are, and how many of them have filters.
struct Filtered {
  int threads = 0;
  int filtered = 0;
};
std::map<std::string, Filtered> threads_by_name() {
  std::map<std::string, Filtered> found;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string name;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Name:\t")) name = line.substr(6);
      if (!line.starts_with("Seccomp:\t")) continue;
      ++found[name].threads;
      found[name].filtered += line == "Seccomp:\t2" ? 1 : 0;
    }
  }
  return found;
}

TEST_P(Walls, enclose_the_threads_that_serve_and_no_others) {
  Runtime runtime = start_behind_walls();
  ASSERT_TRUE(runtime.provide("double", [](int value) { return 2 * value; }).ok());
  const Pair pipe;
  const TemporaryFile file("0123456789");
  std::array<long, 3> answers{};
  char letters[4] = {};
  ASSERT_EQ(::write(pipe.out(), "x", 1), 1);
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::pread(k2k::work_item, file.fd, letters, 4, 0);
    answers[1] = k2k::host_call<int>(k2k::work_item, "double", 4).value();
    answers[2] = k2k::read(k2k::work_item, pipe.in(), letters, 1);
  });
  EXPECT_EQ(answers, (std::array<long, 3>{4, 8, 1}));
  int enclosed = 0;
  for (const auto& [name, seen] : threads_by_name()) {
    const bool serves = name.starts_with("k2k/serve") || name == "k2k/host" ||
                        name == "k2k/clerk" || name == "k2k/guard" || name == "k2k/wait" ||
                        name == "k2k/fault" || name == "k2k/reads";
    EXPECT_EQ(seen.filtered, serves ? seen.threads : 0) << name;
    enclosed += seen.filtered;
  }
  EXPECT_GE(enclosed, 4);  // Two that serve, one for the function, one that answers for it.
}

TEST_P(Walls, stand_around_functions_of_the_program) {
  Runtime runtime = start_behind_walls();
  const auto tries = [] { return ::syscall(SYS_unshare, 0) == 0 ? 0 : errno; };
  ASSERT_TRUE(runtime.provide("tries", tries).ok());
  int answer = 0;
  launch(runtime, 1, 1, [&] { answer = k2k::host_call<int>(k2k::work_item, "tries").value(); });
  EXPECT_EQ(answer, EPERM);
  EXPECT_EQ(tries(), 0);
}

TEST_P(Walls, stay_as_the_server_started_and_so_does_the_policy) {
  Runtime runtime = start_behind_walls();
  server::ServerConfig config = runtime.server_config();
  config.spin_us += 1;
  EXPECT_TRUE(runtime.reconfigure(config).ok());

  server::ServerConfig other = config;
  other.policy = server::CallPolicy::known_only;
  Status status = runtime.reconfigure(other);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, EINVAL);
  EXPECT_EQ(status.error().message,
            "server.policy stays as it was at start: server.walls were built for it, and a thread "
            "cannot leave them");

  other = config;
  other.walls = server::WallMode::off;
  status = runtime.reconfigure(other);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "server.walls stays as it was at start: a thread cannot leave its walls");
  EXPECT_EQ(runtime.server_config().walls, server::WallMode::strict);
}

// A folder with a root and a file beside it, and a policy that confines kernels to the root.
struct ConfinedFolder {
  ConfinedFolder() {
    std::string pattern = testing::TempDir() + "k2k_walls_XXXXXX";
    path = fs::canonical(::mkdtemp(pattern.data()));
    fs::create_directory(path / "root");
    std::ofstream(path / "root/file") << "inside";
    std::ofstream(path / "secret") << "outside";
    std::ofstream(path / "policy.toml")
        << "[files]\nroots = [\"" << (path / "root").string() << "\"]\n[audit]\nfile = \""
        << (path / "audit").string() << "\"\n";
  }
  ~ConfinedFolder() { fs::remove_all(path); }
  ConfinedFolder(const ConfinedFolder&) = delete;
  ConfinedFolder& operator=(const ConfinedFolder&) = delete;

  void use(RuntimeConfig& config) const {
    config.server.policy = server::CallPolicy::file;
    config.server.policy_file = path / "policy.toml";
  }
  fs::path path;
};

constexpr long landlock_create_ruleset_number = 444;
bool has_landlock() { return ::syscall(landlock_create_ruleset_number, nullptr, 0, 1) > 0; }

TEST_P(Walls, keep_files_below_the_roots_from_functions_of_the_program_too) {
  if (!has_landlock()) GTEST_SKIP() << "no Landlock here";
  const ConfinedFolder folder;
  Runtime runtime = start_behind_walls([&](RuntimeConfig& config) { folder.use(config); });
  const std::string inside = folder.path / "root/file";
  const std::string outside = folder.path / "secret";
  const auto error_of_open = [](const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const int error = file < 0 ? errno : 0;
    if (file >= 0) ::close(file);
    return error;
  };
  ASSERT_TRUE(runtime.provide("inside", [&] { return error_of_open(inside); }).ok());
  ASSERT_TRUE(runtime.provide("outside", [&] { return error_of_open(outside); }).ok());
  const int opened_by_program = ::open(outside.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(opened_by_program, 0);
  std::array<long, 5> answers{};
  char letters[8] = {};
  launch(runtime, 1, 1, [&] {
    const k2k::Reply file = k2k::open(k2k::work_item, inside.c_str(), O_RDONLY);
    answers[0] = k2k::pread(k2k::work_item, file.fd(), letters, 6, 0);
    answers[1] = k2k::open(k2k::work_item, outside.c_str(), O_RDONLY);
    answers[2] = k2k::host_call<int>(k2k::work_item, "inside").value();
    answers[3] = k2k::host_call<int>(k2k::work_item, "outside").value();
    answers[4] = k2k::pread(k2k::work_item, opened_by_program, letters, 7, 0);
  });
  ::close(opened_by_program);
  EXPECT_EQ(answers, (std::array<long, 5>{6, -EACCES, 0, EACCES, 7}));
  EXPECT_EQ(error_of_open(outside), 0);
}

// 0: a runtime starts; 1: refused with this message; 2: with another one.
int start_without(std::uint32_t number, const std::function<void(RuntimeConfig&)>& adjust,
                  const std::string& begin_of_message) {
  return io::where_refused(number, ENOSYS, [&] {
    RuntimeConfig config = config_of(DeviceUnderTest::GetParam());
    adjust(config);
    const Result<Runtime> runtime = Runtime::create(config);
    if (runtime) return 0;
    const bool named = runtime.error().message.starts_with(begin_of_message);
    return named && runtime.error().code == ENOTSUP ? 1 : 2;
  });
}

TEST_P(Walls, end_the_start_where_the_kernel_refuses_a_filter) {
  const std::string message =
      "server.walls = \"strict\" cannot be kept: no seccomp filter (Function not implemented): ";
  const auto start_with = [&](server::WallMode mode) {
    return start_without(
        SYS_seccomp, [mode](RuntimeConfig& config) { config.server.walls = mode; }, message);
  };
  EXPECT_EQ(start_with(server::WallMode::strict), 1);
  EXPECT_EQ(start_with(server::WallMode::on), 0);
  EXPECT_EQ(start_with(server::WallMode::off), 0);
}

TEST_P(Walls, end_the_start_where_a_policy_with_roots_has_no_landlock) {
  const ConfinedFolder folder;
  const std::string message =
      "server.walls = \"strict\" cannot be kept: no Landlock (Function not implemented): ";
  const auto start_with = [&](server::WallMode mode, bool has_roots) {
    return start_without(
        landlock_create_ruleset_number,
        [&, mode, has_roots](RuntimeConfig& config) {
          config.server.walls = mode;
          if (has_roots) folder.use(config);
        },
        message);
  };
  EXPECT_EQ(start_with(server::WallMode::strict, true), 1);
  EXPECT_EQ(start_with(server::WallMode::on, true), 0);
  EXPECT_EQ(start_with(server::WallMode::strict, false), 0);
}

}  // namespace
}  // namespace k2k::conformance::walls_test
