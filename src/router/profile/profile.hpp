#pragma once
// What k2k calibrate found out about one device, file system and I/O engine, kept for the router.
//
//   $K2K_PROFILE_DIR                        if set, and nowhere else: for tests and containers
//   $XDG_STATE_HOME/k2k/io-profiles         if that is an absolute path
//   $HOME/.local/state/k2k/io-profiles
//
// One JSON file each, mode 0600, replaced as a whole: a reader sees the old one or the new one. A
// sum over its contents tells a file that was damaged or edited from one that was written here.
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

// What direct transfers into ordinary memory are made by here, as io::make_direct() has it:
// "uring", "pool". Found out once. "none": they cannot be made.
const std::string& direct_engine();

// Whose costs they are.
struct Identity {
  std::string file_system;         // "ext4"; "0x..." where the name is not known here.
  std::string file_system_id;      // f_fsid of statfs(2), 16 hexadecimal digits.
  std::string device;              // "254:0"
  std::string device_model;        // Of /sys; "" where it does not tell (overlay, btrfs, network).
  std::uint64_t device_bytes = 0;  // 0 likewise.
  std::string engine;              // direct_engine(), or DevicePaths::name() of a device's memory.
  std::string kernel;              // uname -r

  bool operator==(const Identity&) const = default;
};

struct Profile {
  Identity identity;
  Fit fit;  // Its deviations are not kept: they follow from the points.
  std::vector<Point> direct;
  std::vector<Point> cache;
  std::int64_t made_s = 0;  // Since 1970.
  std::string version;      // Of K2K.
};

// Of the file or folder behind the descriptor. Errors: EBADF.
Result<Identity> identify(int descriptor, const std::string& engine = direct_engine(),
                          const std::string& sys_folder = "/sys");

// Where profiles lie. ENOENT: no variable names a place; the message says which to set.
Result<std::string> profile_folder();
// PLACE/254-0_ext4_0123456789abcdef_uring.json
std::string profile_path(const std::string& folder, const Identity& identity);

// Makes the folder if it is missing, and replaces the profile. Returns its path. Errors, with path
// and fix: those of mkdir(2), open(2), write(2), fsync(2) and rename(2).
Result<std::string> store(const std::string& folder, const Profile& profile);

enum class ProfileState : std::uint8_t {
  measured,
  stale,   // Its numbers are used, for they are nearer than another device's; `says` tells why not.
  absent,  // SPIN's numbers.
};

struct Loaded {
  Model model;
  ProfileState state = ProfileState::absent;
  std::string path;
  std::string says;  // What differs, or what is missing, and the fix. "" if measured.
  Profile profile;   // Empty if absent.
};

// What is known of `identity`; `target` is the path that the fix names. Of direct_engine() it may
// be what was measured by plain preads, as k2k once did: then it is stale. Errors, with path and
// fix:
//   EINVAL  it is no profile: cut off, edited, wrong types, numbers out of range, no regular file
//   EFBIG   longer than profile_bytes_max          those of open(2) and read(2), but not ENOENT
Result<Loaded> load(const std::string& folder, const Identity& identity, std::int64_t now_s,
                    const std::string& target);

// What is known of the device behind a descriptor, for ReaderConfig::model_of: nothing without a
// profile, or with one that cannot be read (k2k route explain says what is wrong with it).
std::optional<Model> calibrated_model(int descriptor);
// Likewise by that engine, for DeviceReaderConfig::model_of.
std::optional<Model> calibrated_model_by(int descriptor, const std::string& engine);

// As the file has it, for tests and for k2k calibrate --json.
std::string to_json(const Profile& profile);

}  // namespace k2k::router
