#include "services/walls/file_walls.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "router/profile/profile.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

// Rights of Landlock by version; the headers of Debian 12 end with the second.
constexpr std::uint64_t rights_of_version_1 = (1ull << 13) - 1;
constexpr std::uint64_t refer_right = 1ull << 13;         // Version 2.
constexpr std::uint64_t truncate_right = 1ull << 14;      // Version 3.
constexpr std::uint64_t device_ioctl_right = 1ull << 15;  // Version 5.
constexpr std::uint64_t read_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

std::uint64_t rights_of(int version) {
  std::uint64_t rights = rights_of_version_1;
  if (version >= 2) rights |= refer_right;
  if (version >= 3) rights |= truncate_right;
  if (version >= 5) rights |= device_ioctl_right;
  return rights;
}

Error failed_rule(const std::string& what, std::int64_t answer) {
  const int code = static_cast<int>(-answer);
  return {code, fmt::format("Landlock: {}: {}", what, std::strerror(code))};
}

std::int64_t add_rule(const FileWall& wall, int folder, std::uint64_t rights) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = folder;
  return raw(SYS_landlock_add_rule, wall.ruleset.number(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0ul);
}

// A place that is not there needs no rule.
Status permit_reading(FileWall& wall, const std::string& path) {
  Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place.open()) return {};
  const std::int64_t added = add_rule(wall, place.number(), read_rights);
  if (added < 0) return failed_rule(path, added);
  wall.places.push_back(std::move(place));
  return {};
}

}  // namespace

Result<FileWall> file_wall(int version, const std::vector<int>& roots) {
  const std::uint64_t rights = rights_of(version);
  const struct {
    std::uint64_t handled;
  } attributes{rights};
  const std::int64_t made = raw(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0ul);
  if (made < 0) return failed_rule("landlock_create_ruleset", made);
  FileWall wall{Descriptor(static_cast<int>(made)), {}};
  for (const int root : roots) {
    const std::int64_t added = add_rule(wall, root, rights & ~LANDLOCK_ACCESS_FS_EXECUTE);
    if (added < 0) return failed_rule("landlock_add_rule for a root", added);
  }
  for (const char* const place : {"/proc/self/task", "/sys/devices"}) {
    if (Status status = permit_reading(wall, place); !status) return status.error();
  }
  if (const auto profiles = router::profile_folder()) {
    if (Status status = permit_reading(wall, profiles.value()); !status) return status.error();
  }
  return wall;
}

}  // namespace k2k::services
