#pragma once
// The results of k2k calibrate for one device, file system and I/O engine, stored for the router.
//
//   $K2K_PROFILE_DIR                        if set, and then no other: for tests and containers
//   $XDG_STATE_HOME/k2k/io-profiles         if that is an absolute path
//   $HOME/.local/state/k2k/io-profiles
//
// One JSON file each, mode 0600, replaced as a whole: a reader sees the old one or the new one. A
// checksum over its contents distinguishes a damaged or edited file from a file that K2K wrote.
//
// Threading: from anywhere; the environment is read.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/profile/fit.hpp"

namespace k2k::router {

inline constexpr std::int64_t profile_days_max = 90;
inline constexpr std::size_t profile_bytes_max = 64 * 1024;

// The engine of direct transfers into ordinary memory, as io::make_direct() selects it: "uring",
// "pool". Determined once. "none": no engine works.
const std::string& direct_engine();

// The identity to which measured costs belong.
struct Identity {
  std::string file_system;         // "ext4"; "0x..." for a file system without a known name.
  std::string file_system_id;      // f_fsid of statfs(2), 16 hexadecimal digits.
  std::string device;              // "254:0"
  std::string device_model;        // From /sys; "" if unknown (overlay, btrfs, network).
  std::uint64_t device_bytes = 0;  // 0 if unknown.
  std::string engine;              // direct_engine(), or DevicePaths::name() for a device's memory.
  std::string kernel;              // uname -r

  bool operator==(const Identity&) const = default;
};

struct Profile {
  Identity identity;
  Fit fit;  // Its deviations are not stored, because they follow from the points.
  std::vector<Point> direct;
  std::vector<Point> cache;
  std::int64_t made_s = 0;  // Since 1970.
  std::string version;      // Of K2K.
};

// For the file or folder behind the descriptor. Errors: EBADF.
Result<Identity> identify(int descriptor, const std::string& engine = direct_engine(),
                          const std::string& sys_folder = "/sys");

// The folder of profiles. Errors: ENOENT, no variable names a folder; the message names the
// variable to set.
Result<std::string> profile_folder();
// PLACE/254-0_ext4_0123456789abcdef_uring.json
std::string profile_path(const std::string& folder, const Identity& identity);

// Makes the folder if it is missing, and replaces the profile. Returns its path. Errors, with path
// and remedy: as mkdir(2), open(2), write(2), fsync(2) and rename(2).
Result<std::string> store(const std::string& folder, const Profile& profile);

enum class ProfileState : std::uint8_t {
  measured,
  stale,   // Its numbers are used, because they are closer than another device's; `says` gives the
           // reason.
  absent,  // SPIN's numbers.
};

struct Loaded {
  Model model;
  ProfileState state = ProfileState::absent;
  std::string path;
  std::string says;  // The difference or the missing file, and the remedy. "" if measured.
  Profile profile;   // Empty if absent.
};

// Loads the profile of `identity`; `target` is the path for the remedy. For direct_engine(), it may
// return a profile of plain preads, which earlier versions measured: then it is stale. Errors, with
// path and remedy:
//   EINVAL  not a profile: cut off, edited, wrong types, numbers out of range, not a regular file
//   EFBIG   longer than profile_bytes_max          others as open(2) and read(2), except ENOENT
Result<Loaded> load(const std::string& folder, const Identity& identity, std::int64_t now_s,
                    const std::string& target);

// The model of the device behind a descriptor, for ReaderConfig::model_of: empty without a profile,
// or with one that cannot be read (k2k route explain reports why).
// `engine` "": direct_engine().
std::optional<Model> calibrated_model(int descriptor, const std::string& engine = {});

// The file's text, for tests and for k2k calibrate --json.
std::string to_json(const Profile& profile);

}  // namespace k2k::router
