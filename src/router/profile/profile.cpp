// The storage of profiles: how they are found, read and replaced. Their contents: profile_json.cpp.

#include "router/profile/profile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/found_once.hpp"
#include "io/engine/engine.hpp"
#include "router/profile/profile_json.hpp"

namespace k2k::router {

namespace {

constexpr std::int64_t day_s = 24 * 60 * 60;
constexpr mode_t owner_only = 0600;
constexpr mode_t owner_folder = 0700;
constexpr const char* former_engine = "pread";  // The engine of profiles from before
                                                // direct_engine() existed.

std::string variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

// Names of file systems and engines become part of a file's name.
std::string plain(const std::string& text) {
  std::string name;
  for (const char letter : text) {
    const bool usual = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.';
    name += usual ? letter : '-';
  }
  return name;
}

Error failed(const char* what, const std::string& path, int code) {
  return {code, fmt::format("cannot {} {}: {}; name a folder of your own that can be written in "
                            "K2K_PROFILE_DIR or XDG_STATE_HOME",
                            what, path, std::strerror(code))};
}

Status make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), owner_folder) != 0 && errno != EEXIST) {
      return failed("make", part, errno);
    }
    if (end == std::string::npos) break;
  }
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return failed("make", path, errno);
  if (!S_ISDIR(facts.st_mode)) return failed("make", path, ENOTDIR);
  return {};
}

Status write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{errno, ""};
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return ::fsync(descriptor) == 0 ? Status() : Status(Error{errno, ""});
}

Result<std::string> read_all(int descriptor, const std::string& path) {
  std::string text(profile_bytes_max + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t count = ::read(descriptor, text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Error{errno, fmt::format("cannot read {}: {}", path, std::strerror(errno))};
    }
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  text.resize(length);
  return text;
}

// The differences from `here`, or the profile's age: a list for display, "" if there are none.
std::string differences(const Profile& profile, const Identity& here, std::int64_t now_s) {
  std::vector<std::string> all;
  const auto compare = [&](const char* what, const auto& then, const auto& now) {
    if (then != now) all.push_back(fmt::format("{} was {} and is {}", what, then, now));
  };
  const Identity& then = profile.identity;
  compare("Linux", then.kernel, here.kernel);
  compare("the device's model", "'" + then.device_model + "'", "'" + here.device_model + "'");
  compare("the device's size", then.device_bytes, here.device_bytes);
  compare("the engine", then.engine, here.engine);
  compare("the device", then.device, here.device);
  compare("the file system", then.file_system + " " + then.file_system_id,
          here.file_system + " " + here.file_system_id);
  const std::int64_t days = (now_s - profile.made_s) / day_s;
  if (days > profile_days_max) {
    all.push_back(fmt::format("it is {} days old, more than {}", days, profile_days_max));
  }
  if (profile.made_s > now_s + day_s) all.emplace_back("it was made in the future");
  return fmt::format("{}", fmt::join(all, ", "));
}

// Where the profile is, or would be.
std::string path_of(const std::string& folder, const Identity& identity) {
  std::string path = profile_path(folder, identity);
  if (identity.engine != direct_engine() || ::access(path.c_str(), F_OK) == 0) return path;
  Identity former = identity;
  former.engine = former_engine;
  std::string other = profile_path(folder, former);
  return ::access(other.c_str(), F_OK) == 0 ? other : path;
}

}  // namespace

const std::string& direct_engine() {
  static constinit FoundOnce<std::string> name;  // No guard: this takes milliseconds.
  return name.get([] {
    const Result<std::unique_ptr<io::Engine>> made = io::make_direct(1);
    return std::string(made ? made.value()->capabilities().name : "none");
  });
}

Result<std::string> profile_folder() {
  if (std::string path = variable("K2K_PROFILE_DIR"); !path.empty()) return path;
  if (const std::string path = variable("XDG_STATE_HOME"); path.starts_with('/')) {
    return path + "/k2k/io-profiles";
  }
  if (const std::string path = variable("HOME"); path.starts_with('/')) {
    return path + "/.local/state/k2k/io-profiles";
  }
  return Error{ENOENT,
               "no place for profiles: neither K2K_PROFILE_DIR, XDG_STATE_HOME nor HOME "
               "names a folder; set HOME"};
}

std::string profile_path(const std::string& folder, const Identity& identity) {
  return fmt::format("{}/{}_{}_{}_{}.json", folder, plain(identity.device),
                     plain(identity.file_system), plain(identity.file_system_id),
                     plain(identity.engine));
}

Result<std::string> store(const std::string& folder, const Profile& profile) {
  if (Status made = make_folders(folder); !made) return made.error();
  const std::string path = profile_path(folder, profile.identity);
  std::string temporary = path + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);  // Mode 0600.
  if (descriptor < 0) return failed("make a file in", folder, errno);
  ::fchmod(descriptor, owner_only);
  int code = 0;
  if (Status written = write_all(descriptor, to_json(profile)); !written) {
    code = written.error().code;
  }
  if (::close(descriptor) != 0 && code == 0) code = errno;
  if (code == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    return failed("write", path, code);
  }
  // The name, too, is to survive a loss of power; a file system that cannot do so is no error.
  if (const int parent = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); parent >= 0) {
    static_cast<void>(::fsync(parent));
    ::close(parent);
  }
  return path;
}

Result<Loaded> load(const std::string& folder, const Identity& identity, std::int64_t now_s,
                    const std::string& target) {
  const std::string path = path_of(folder, identity);
  const std::string fix = fmt::format("run 'k2k calibrate {}'", target);
  Loaded loaded;
  loaded.path = path;
  // Never waits for a FIFO.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    loaded.says = fmt::format(
        "this device was not measured: these are SPIN's numbers of another "
        "one; {}",
        fix);
    return loaded;
  }
  if (descriptor < 0) {
    const int code = errno;
    return Error{
        code, fmt::format("cannot read {}: {}; remove it and {}", path, std::strerror(code), fix)};
  }
  struct stat facts{};
  const bool regular = ::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
  const Result<std::string> text = regular ? read_all(descriptor, path) : std::string();
  ::close(descriptor);
  if (!regular) {
    return Error{EINVAL, fmt::format("{} is no regular file; remove it and {}", path, fix)};
  }
  if (!text) return Error{text.error().code, text.error().message + "; " + fix};
  if (text.value().size() > profile_bytes_max) {
    return Error{EFBIG, fmt::format("{} is longer than {} bytes, so it is no profile; remove it "
                                    "and {}",
                                    path, profile_bytes_max, fix)};
  }
  Result<Parsed> parsed = parse_profile(text.value());
  if (!parsed) {
    return Error{EINVAL, fmt::format("{} is damaged: {}; remove it and {}", path,
                                     parsed.error().message, fix)};
  }
  if (parsed->format != profile_format) {
    loaded.state = ProfileState::stale;
    loaded.says = fmt::format(
        "{} has format {} and this k2k reads {}: these are SPIN's numbers of "
        "another device; {}",
        path, parsed->format, profile_format, fix);
    return loaded;
  }
  loaded.profile = std::move(parsed->profile);
  loaded.model = loaded.profile.fit.model;
  const std::string differs = differences(loaded.profile, identity, now_s);
  loaded.state = differs.empty() ? ProfileState::measured : ProfileState::stale;
  if (!differs.empty()) loaded.says = fmt::format("the profile is stale: {}; {}", differs, fix);
  return loaded;
}

std::optional<Model> calibrated_model(int descriptor, const std::string& engine) {
  const Result<Identity> identity = identify(descriptor, engine.empty() ? direct_engine() : engine);
  const Result<std::string> folder = profile_folder();
  if (!identity || !folder) return {};
  const auto now_s = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const Result<Loaded> loaded = load(folder.value(), identity.value(), now_s.count(), ".");
  // Of another format its numbers are not known, either.
  if (!loaded || loaded.value().profile.direct.empty()) return {};
  return loaded.value().model;
}

}  // namespace k2k::router
