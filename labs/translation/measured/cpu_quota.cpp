#include "labs/translation/measured/cpu_quota.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/contract.hpp"
#include "base/descriptor.hpp"

namespace k2k::labs::translation {

namespace {

constexpr const char* cgroup_root = "/sys/fs/cgroup";
constexpr std::uint32_t quota_us = 1'000;  // The least that Linux accepts.
constexpr int removals_max = 1'000;

// 0 or an errno. Makes no file.
int write_word(const std::string& path, const std::string& word) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.open()) return errno;
  const ssize_t written = ::write(file.number(), word.data(), word.size());
  if (written < 0) return errno;
  return written == static_cast<ssize_t>(word.size()) ? 0 : EIO;
}

Error no_quota(int code) {
  return {code, fmt::format("a CPU quota needs a cgroup of the controller cpu ({}); run as root, "
                            "or: systemd-run --user --scope -p Delegate=yes k2k lab translation",
                            std::strerror(code))};
}

const char* members_of(const CpuGroupPlace& place) {
  return place.second ? "/cgroup.threads" : "/tasks";
}

// A group of version 2 may hold single threads once it is threaded, and limit them once its parent
// has the controller. 0 or an errno.
int make_threaded(const std::string& parent, const std::string& group) {
  if (const int failed = write_word(group + "/cgroup.type", "threaded"); failed != 0) return failed;
  if (::access((group + "/cpu.max").c_str(), F_OK) == 0) return 0;
  return write_word(parent + "/cgroup.subtree_control", "+cpu");
}

}  // namespace

CpuGroupPlace cpu_group_place(const std::string& cgroups) {
  std::istringstream lines(cgroups);
  CpuGroupPlace place;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      return {fmt::format("{}/{}{}", cgroup_root, controllers, path), false};
    }
    if (controllers.empty()) place = {cgroup_root + path, true};
  }
  return place;
}

std::vector<pid_t> threads_named(const std::string& beginning) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    if (name.starts_with(beginning)) threads.push_back(std::stoi(task.path().filename().string()));
  }
  return threads;
}

Result<CpuQuota> CpuQuota::create() {
  std::ifstream file("/proc/self/cgroup");
  CpuGroupPlace place = cpu_group_place(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  if (place.folder.empty()) return no_quota(ENOTSUP);
  const std::string group = fmt::format("{}/k2k-quota-{}", place.folder, ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) return no_quota(errno);
  CpuQuota quota(std::move(place), group);
  if (quota.place_.second) {
    const int failed = make_threaded(quota.place_.folder, group);
    if (failed != 0) return no_quota(failed);
  }
  if (Status limited = quota.limit(1); !limited) return limited.error();
  return quota;
}

CpuQuota::CpuQuota(CpuQuota&& other) noexcept
    : place_(std::move(other.place_)), group_(std::exchange(other.group_, {})) {}

CpuQuota::~CpuQuota() {
  if (group_.empty()) return;
  static_cast<void>(limit(1));
  std::ifstream members(group_ + members_of(place_));
  for (std::string thread; std::getline(members, thread);) {
    write_word(place_.folder + members_of(place_), thread);
  }
  // A thread that has just ended may be counted for a moment.
  for (int tries = 0; tries < removals_max; ++tries) {
    if (::rmdir(group_.c_str()) == 0 || errno != EBUSY) return;
    ::usleep(1'000);
  }
}

Status CpuQuota::hold(const std::vector<pid_t>& threads) const {
  for (const pid_t thread : threads) {
    const int failed = write_word(group_ + members_of(place_), std::to_string(thread));
    if (failed != 0 && failed != ESRCH) return no_quota(failed);
  }
  return {};
}

Status CpuQuota::limit(double share) const {
  K2K_EXPECT(share >= 0.01 && share <= 1);
  const bool limited = share < 1;
  const std::string quota = limited ? std::to_string(quota_us) : place_.second ? "max" : "-1";
  const std::string period = std::to_string(limited ? std::lround(quota_us / share) : 100'000);
  int failed = 0;
  if (place_.second) {
    failed = write_word(group_ + "/cpu.max", quota + " " + period);
  } else {
    // No state between the two writes may ask for more than a parent permits.
    failed = write_word(group_ + "/cpu.cfs_quota_us", "-1");
    if (failed == 0) failed = write_word(group_ + "/cpu.cfs_period_us", period);
    if (failed == 0) failed = write_word(group_ + "/cpu.cfs_quota_us", quota);
  }
  return failed == 0 ? Status{} : Status(no_quota(failed));
}

}  // namespace k2k::labs::translation
