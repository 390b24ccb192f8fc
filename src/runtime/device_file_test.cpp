// Goal: a kernel and a host program read what the runtime knows of its device as a file, equal to
// the statistics; the file lives as long as its runtime, and files of ended processes are removed.

#include "runtime/device_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/own_descriptors.hpp"
#include "control/folder_fixture.hpp"
#include "device/k2k.hpp"
#include "k2k/runtime.hpp"
#include "runtime/report/device_text.hpp"
#include "runtime/report/device_text_fixture.hpp"
#include "runtime/report/stats_text.hpp"

namespace k2k::runtime {
namespace {

using DeviceFileOfARuntime = control::InOwnFolder;

Result<Runtime> with_device_file() {
  RuntimeConfig config;
  config.device.compute_units = 1;
  config.control.device_file = true;
  return Runtime::create(config);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(DeviceFileOfARuntime, is_read_by_a_kernel_and_by_the_host_and_equals_the_statistics) {
  auto runtime = with_device_file();
  ASSERT_TRUE(runtime) << runtime.error().message;
  const std::string path = runtime->stats().control.device_file;
  EXPECT_EQ(path, folder_ + "/" + std::to_string(::getpid()) + ".device");

  // The first launch makes ten calls; the second one reads the file.
  ASSERT_TRUE(runtime->launch({.groups = 1, .group_items = 1}, [] K2K_DEVICE {
    for (int call = 0; call < 10; ++call) static_cast<void>(k2k::nop(k2k::work_item));
  }));
  std::vector<char> text(device_text_bytes + 1);
  long read = -1;
  const char* const name = path.c_str();
  char* const into = text.data();
  long* const answer = &read;
  ASSERT_TRUE(runtime->launch({.groups = 1, .group_items = 1}, [=] K2K_DEVICE {
    const long fd = k2k::open(k2k::work_item, name, O_RDONLY);
    if (fd < 0) return;
    *answer = k2k::pread(k2k::work_item, static_cast<int>(fd), into, device_text_bytes + 1, 0);
    static_cast<void>(k2k::close(k2k::work_item, static_cast<int>(fd)));
  }));
  ASSERT_EQ(read, static_cast<long>(device_text_bytes));
  const auto seen = parse_device_text(text.data());
  EXPECT_EQ(seen.at("sequence"), seen.at("end"));
  EXPECT_EQ(seen.at("launches"), "1");
  EXPECT_EQ(seen.at("launching"), "1") << "the kernel that reads it";
  EXPECT_EQ(seen.at("call nop"), "10 0");
  EXPECT_EQ(seen.at("resident_waves"), std::to_string(runtime->device().resident_waves));
  EXPECT_EQ(seen.at("local_bytes_max"), std::to_string(runtime->device().local_bytes_max));

  // The host reads the values of the last launch's end or drain().
  ASSERT_TRUE(runtime->drain());
  const auto now = parse_device_text(text_of(path));
  const nlohmann::ordered_json stats = to_json(runtime->stats());
  EXPECT_EQ(now.at("launches"), "2");
  for (const auto& [key, value] : stats["device"].items()) {
    EXPECT_EQ(now.at(key), value.is_string() ? value.get<std::string>() : value.dump()) << key;
  }
  for (const char* const key : {"requests", "in_flight", "refused"}) {
    EXPECT_EQ(now.at(key), stats[key].dump()) << key;
  }
  for (const auto& call : stats["calls"]) {
    EXPECT_EQ(now.at("call " + call["name"].get<std::string>()),
              call["count"].dump() + " " + call["errors"].dump());
  }
}

TEST_F(DeviceFileOfARuntime, is_renewed_behind_walls) {
  RuntimeConfig config;
  config.device.compute_units = 1;
  config.control.device_file = true;
  config.server.walls = server::WallMode::on;
  auto runtime = Runtime::create(config);
  ASSERT_TRUE(runtime) << runtime.error().message;
  const std::string path = runtime->stats().control.device_file;
  const std::uint64_t before = std::stoull(parse_device_text(text_of(path)).at("sequence"));
  const char* const name = path.c_str();
  long opened = -1;
  long* const answer = &opened;
  ASSERT_TRUE(runtime->launch({.groups = 1, .group_items = 1}, [=] K2K_DEVICE {
    *answer = k2k::open(k2k::work_item, name, O_RDONLY);
    static_cast<void>(k2k::close(k2k::work_item, static_cast<int>(*answer)));
  }));
  EXPECT_GE(opened, 0);
  // Once by the open, once by the launch's end.
  EXPECT_EQ(parse_device_text(text_of(path)).at("sequence"), std::to_string(before + 2));
}

TEST_F(DeviceFileOfARuntime, may_be_read_and_not_written_and_ends_with_the_runtime) {
  std::string path;
  {
    auto runtime = with_device_file();
    ASSERT_TRUE(runtime) << runtime.error().message;
    path = runtime->stats().control.device_file;
    struct stat facts{};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777u, 0444u);
    EXPECT_EQ(static_cast<std::size_t>(facts.st_size), device_text_bytes);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(DeviceFileOfARuntime, is_absent_unless_it_is_asked_for) {
  RuntimeConfig config;
  config.control.socket = false;
  auto runtime = Runtime::create(config);
  ASSERT_TRUE(runtime);
  EXPECT_EQ(runtime->stats().control.device_file, "");
  EXPECT_EQ(files(), 0u);
}

TEST_F(DeviceFileOfARuntime, has_a_name_of_its_own_beside_another_one) {
  auto one = with_device_file();
  auto two = with_device_file();
  ASSERT_TRUE(one && two);
  EXPECT_EQ(two->stats().control.device_file,
            folder_ + "/" + std::to_string(::getpid()) + "-2.device");
  EXPECT_EQ(parse_device_text(text_of(one->stats().control.device_file)).at("launches"), "0");
}

TEST_F(DeviceFileOfARuntime, removes_what_an_ended_process_left_and_nothing_else) {
  const std::string left = folder_ + "/1.device";
  const std::string held = folder_ + "/2.device";
  std::ofstream(left) << "old\n";
  std::ofstream(held) << "of a living process\n";
  std::ofstream(folder_ + "/notes") << "no device file\n";
  const Descriptor holder(::open(held.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(holder.number(), LOCK_EX), 0);
  auto runtime = with_device_file();
  ASSERT_TRUE(runtime) << runtime.error().message;
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(held));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/notes"));
}

TEST_F(DeviceFileOfARuntime, a_fifo_with_its_kind_of_name_is_left_alone) {
  const std::string fifo = folder_ + "/1.device";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_TRUE(with_device_file());
  EXPECT_TRUE(std::filesystem::exists(fifo));
}

TEST_F(DeviceFileOfARuntime, writes_into_no_other_file_that_gets_its_number) {
  const std::string other = folder_ + "/other";
  {
    auto runtime = with_device_file();
    ASSERT_TRUE(runtime) << runtime.error().message;
    struct stat ours{};
    ASSERT_EQ(::stat(runtime->stats().control.device_file.c_str(), &ours), 0);
    int number = -1;  // Of K2K's descriptor.
    for (int at = next_own(0); at < own_numbers_max && number < 0; at = next_own(at + 1)) {
      struct stat facts{};
      if (::fstat(at, &facts) == 0 && facts.st_ino == ours.st_ino) number = at;
    }
    ASSERT_GE(number, 0);
    std::ofstream(other) << "the program's";
    const int file = ::open(other.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::dup2(file, number), number);
    ::close(file);
    EXPECT_TRUE(runtime->drain());
    EXPECT_EQ(text_of(other), "the program's");
    runtime = Error{ECANCELED, "its end"};
    EXPECT_NE(::fcntl(number, F_GETFD), -1) << "it is not K2K's to close";
    ::close(number);
  }
  EXPECT_EQ(text_of(other), "the program's");
}

// A write beyond the limit would end the program by SIGXFSZ.
TEST_F(DeviceFileOfARuntime, a_limit_of_files_lengths_is_an_error) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto refused = with_device_file();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EFBIG);
  EXPECT_NE(
      refused.error().message.find("File too large; raise the limit of file lengths (ulimit -f)"),
      std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "nothing stays";

  auto runtime = with_device_file();
  ASSERT_TRUE(runtime) << runtime.error().message;
  const std::string path = runtime->stats().control.device_file;
  const std::string text = text_of(path);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  EXPECT_TRUE(runtime->drain());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(text_of(path), text) << "as it was";
}

// The folder becomes a file system of a few pages, for the calling thread and those that it starts.
bool mount_small_disk(const std::string& folder) {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("k2k", folder.c_str(), "tmpfs", 0, "size=64k,mode=0700") == 0;
}
// Returns the file that takes all the room.
std::string fill(const std::string& folder) {
  std::string path = folder + "/full";
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string page(4'096, 'x');
  while (::write(file.number(), page.data(), page.size()) > 0) continue;
  EXPECT_EQ(errno, ENOSPC);
  return path;
}

TEST_F(DeviceFileOfARuntime, a_full_disk_is_an_error_and_a_disk_that_fills_later_is_none) {
  bool mounted = false;
  std::thread([&] {
    mounted = mount_small_disk(folder_);
    if (!mounted) return;
    const std::string full = fill(folder_);
    const auto refused = with_device_file();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOSPC);
    EXPECT_NE(refused.error().message.find(
                  "No space left on device; make room there, or set control.device_file = false"),
              std::string::npos)
        << refused.error().message;
    ASSERT_EQ(::unlink(full.c_str()), 0);
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "nothing stays";

    auto runtime = with_device_file();
    ASSERT_TRUE(runtime) << runtime.error().message;
    const std::string path = runtime->stats().control.device_file;
    const std::string text = text_of(path);
    fill(folder_);
    ASSERT_TRUE(runtime->launch({.groups = 1, .group_items = 1},
                                [] K2K_DEVICE { static_cast<void>(k2k::nop(k2k::work_item)); }));
    EXPECT_TRUE(runtime->drain());
    EXPECT_NE(text_of(path), text) << "its pages are its own: it is renewed";
    EXPECT_EQ(text_of(path).size(), text.size());
  }).join();
  if (!mounted) GTEST_SKIP() << "this user may not mount; run as root";
}

TEST_F(DeviceFileOfARuntime, a_child_of_fork_does_not_keep_it) {
  auto runtime = with_device_file();
  ASSERT_TRUE(runtime) << runtime.error().message;
  const std::string path = runtime->stats().control.device_file;
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(gate[1]);
    char byte = 0;
    static_cast<void>(::read(gate[0], &byte, 1));  // Until the parent is done.
    ::_exit(0);
  }
  ::close(gate[0]);
  ASSERT_GT(child, 0);
  // The parent's copy is gone as after a crash: the file stays, its lock goes.
  std::filesystem::rename(path, folder_ + "/3.device");
  runtime = Error{ESRCH, "ended"};
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/3.device"));
  auto next = with_device_file();
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/3.device")) << "the child holds its lock";
  ::close(gate[1]);
  ::waitpid(child, nullptr, 0);
}

TEST_F(DeviceFileOfARuntime, a_reader_during_writes_sees_whole_values_or_the_difference) {
  auto folder = control::own_folder();
  ASSERT_TRUE(folder);
  std::atomic<std::uint64_t> value{0};
  auto file = DeviceFile::create(std::move(folder).value(), [&] {
    server::Stats stats;
    stats.device.launches = stats.requests = value.fetch_add(1);
    return stats;
  });
  ASSERT_TRUE(file) << file.error().message;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop.load()) file.value()->refresh();
  });
  std::size_t whole = 0;
  for (int round = 0; round < 20'000 && whole < 500; ++round) {
    const auto seen = parse_device_text(text_of(file.value()->path()));
    if (seen.at("sequence") != seen.at("end")) continue;
    ++whole;
    EXPECT_EQ(seen.at("launches"), seen.at("requests"));
  }
  stop = true;
  writer.join();
  EXPECT_EQ(whole, 500u);
}

TEST_F(DeviceFileOfARuntime, that_cannot_be_made_is_an_error_with_a_remedy) {
  std::vector<Descriptor> locks;
  for (int number = 1; number <= 64; ++number) {
    const std::string pid = std::to_string(::getpid());
    const std::string name =
        folder_ + "/" + (number == 1 ? pid : pid + "-" + std::to_string(number)) + ".device";
    locks.emplace_back(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::flock(locks.back().number(), LOCK_EX), 0);
  }
  const auto taken = with_device_file();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, EEXIST);
  EXPECT_EQ(taken.error().message,
            "all 64 names of device files of process " + std::to_string(::getpid()) + " in " +
                folder_ + " are taken; end a runtime, or set control.device_file = false");
}

TEST_F(DeviceFileOfARuntime, in_a_folder_of_others_is_an_error) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  const auto open_to_all = with_device_file();
  ASSERT_FALSE(open_to_all);
  EXPECT_EQ(
      open_to_all.error().message,
      "control: " + folder_ + " has mode 0755, so it is open to others; chmod 0700 " + folder_);
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
}

}  // namespace
}  // namespace k2k::runtime
