// The identity of a profile: the file system and the device behind a descriptor.

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "router/profile/profile.hpp"

namespace k2k::router {

namespace {

constexpr std::uint64_t sector_bytes = 512;  // The unit of /sys, whatever the device's sector size.

struct Magic {
  std::uint64_t number;
  const char* name;
};

// XFS, ZFS, CIFS and SMB2 stand in no header of Linux that programs may include.
constexpr Magic magics[] = {
    {EXT4_SUPER_MAGIC, "ext4"},
    {0x58465342, "xfs"},
    {BTRFS_SUPER_MAGIC, "btrfs"},
    {F2FS_SUPER_MAGIC, "f2fs"},
    {OVERLAYFS_SUPER_MAGIC, "overlay"},
    {TMPFS_MAGIC, "tmpfs"},
    {RAMFS_MAGIC, "ramfs"},
    {NFS_SUPER_MAGIC, "nfs"},
    {0x65735546, "fuse"},
    {0x2fc12fc1, "zfs"},
    {0xff534d42, "cifs"},
    {0xfe534d42, "smb2"},
    {MSDOS_SUPER_MAGIC, "vfat"},
    {0x2011bab0, "exfat"},
    {SQUASHFS_MAGIC, "squashfs"},
    {0x0bd00bd0, "lustre"},
    {CEPH_SUPER_MAGIC, "ceph"},
    {V9FS_MAGIC, "9p"},
    {0xca451a4e, "bcachefs"},
};

std::string name_of(std::uint64_t number) {
  number &= 0xffffffff;  // f_type is signed where it has 32 bits.
  for (const Magic& magic : magics) {
    if (magic.number == number) return magic.name;
  }
  return fmt::format("{:#x}", number);
}

// A line of /sys without the blanks around it; "" if there is none.
std::string line_of(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  char text[256];
  const ssize_t count = ::read(descriptor, text, sizeof text);
  ::close(descriptor);
  if (count <= 0) return "";
  std::string_view line(text, static_cast<std::size_t>(count));
  line = line.substr(0, line.find('\n'));
  const std::size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(line.substr(first, line.find_last_not_of(' ') - first + 1));
}

std::string last_of_link(const std::string& path) {
  char text[4096];
  const ssize_t count = ::readlink(path.c_str(), text, sizeof text);
  if (count <= 0) return "";
  const std::string_view target(text, static_cast<std::size_t>(count));
  return std::string(target.substr(target.rfind('/') + 1));
}

// A disk has a model; a partition's disk is the folder above; a virtual disk has only a driver.
std::string model_of(const std::string& folder) {
  for (const char* name : {"/device/model", "/../device/model", "/dm/name", "/loop/backing_file"}) {
    if (std::string line = line_of(folder + name); !line.empty()) return line;
  }
  for (const char* name : {"/device/driver", "/../device/driver"}) {
    if (std::string driver = last_of_link(folder + name); !driver.empty()) return driver;
  }
  return "";
}

std::uint64_t number_of(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Result<Identity> identify(int descriptor, const std::string& engine,
                          const std::string& sys_folder) {
  struct stat facts{};
  struct statfs system{};
  if (::fstat(descriptor, &facts) != 0 || ::fstatfs(descriptor, &system) != 0) {
    return Error{errno, fmt::format("cannot tell the file system of descriptor {}: {}; open a file "
                                    "or folder",
                                    descriptor, std::strerror(errno))};
  }
  Identity identity;
  identity.file_system = name_of(static_cast<std::uint64_t>(system.f_type));
  std::uint64_t id = 0;
  static_assert(sizeof(id) == sizeof(system.f_fsid));
  std::memcpy(&id, &system.f_fsid, sizeof id);
  identity.file_system_id = fmt::format("{:016x}", id);
  // A block device is its own.
  const dev_t device = S_ISBLK(facts.st_mode) ? facts.st_rdev : facts.st_dev;
  identity.device = fmt::format("{}:{}", major(device), minor(device));
  const std::string folder = sys_folder + "/dev/block/" + identity.device;
  identity.device_model = model_of(folder);
  identity.device_bytes = number_of(line_of(folder + "/size")) * sector_bytes;
  identity.engine = engine;
  utsname kernel{};
  if (::uname(&kernel) == 0) identity.kernel = kernel.release;
  return identity;
}

}  // namespace k2k::router
