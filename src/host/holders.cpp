#include "host/holders.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string_view>

#include "governor/parts.hpp"
#include "host/proc_file.hpp"
#include "host/record.hpp"

namespace k2k::host {

namespace {

// A file has this name until it is locked.
constexpr std::string_view draft_prefix = ".new.";
constexpr Nanoseconds draft_life = std::chrono::minutes(1);

std::string in_holders(const Place& place, const std::string& what, int code) {
  return fmt::format("host limit: cannot hold a part in {}/holders: {}: {}; {}", place.path, what,
                     std::strerror(code),
                     mended_by(code, code == EROFS ? "mount it writable" : "see k2k doctor"));
}

// Is its owner alive? Only a process that may write the file can hold this lock.
bool is_locked(const Descriptor& file) {
  struct flock lock{};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(file.number(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

// "PID.START.RANDOM"; all zero for another name.
Holder named(std::string_view name) {
  Holder holder;
  const char* const end = name.data() + name.size();
  const auto process = std::from_chars(name.data(), end, holder.process);
  if (process.ec != std::errc() || process.ptr == end || *process.ptr != '.') return {};
  const auto start = std::from_chars(process.ptr + 1, end, holder.start);
  if (start.ec != std::errc() || start.ptr == end || *start.ptr != '.') return {};
  return holder;
}

std::optional<Record> read_record(const Descriptor& file) {
  // Its owner may be writing; the second time it will be done with that.
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::array<std::byte, record_bytes> bytes{};
    const ssize_t count = ::pread(file.number(), bytes.data(), bytes.size(), 0);
    const std::size_t seen = count > 0 ? static_cast<std::size_t>(count) : 0;
    if (auto record = decode(std::span(bytes).first(seen))) return record;
  }
  return {};
}

bool may_unlink(const struct stat& facts) {
  return ::geteuid() == 0 || facts.st_uid == ::geteuid();
}

bool is_old(const struct stat& facts) {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec - facts.st_ctim.tv_sec > std::chrono::seconds(60).count();
}

bool is_draft(std::string_view name) { return name.starts_with(draft_prefix); }

struct Looked {
  std::optional<Holder> holder{};  // A living holder with a valid record.
  bool locked = false;
  bool unseen = false;  // Nothing is known of it, for lack of descriptors or memory.
  uid_t user = 0;
};

// Leftovers are unlinked.
Looked look_at(const Descriptor& folder, const char* name) {
  const bool draft = is_draft(name);
  const Descriptor file = open_within(folder, name);
  if (!file.open()) return {.unseen = errno == EMFILE || errno == ENFILE || errno == ENOMEM};
  struct stat facts{};
  if (::fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  Looked looked{.locked = is_locked(file), .user = facts.st_uid};
  if (!looked.locked) {
    if (may_unlink(facts) && (!draft || is_old(facts))) ::unlinkat(folder.number(), name, 0);
    return looked;
  }
  const std::optional<Record> record = draft ? std::nullopt : read_record(file);
  if (!record) return looked;
  looked.holder = named(name);
  looked.holder->user = facts.st_uid;
  looked.holder->file = facts.st_ino;
  looked.holder->record = *record;
  return looked;
}

// One listing of the folder; opens files within its bounds.
class Listing {
 public:
  Listing(const Descriptor& folder, KnownFiles& known)
      : folder_(&folder),
        known_(&known),
        strangers_left_(known.empty() ? entries_max : strangers_max) {}

  // False: enough was seen.
  bool take(const dirent& entry) {
    if (++holders.entries > entries_max || holders.list.size() >= holders_max) {
      holders.crowded = true;
      return false;
    }
    if (is_draft(entry.d_name)) {
      if (drafts_left_ == 0) return true;
      --drafts_left_;
      look_at(*folder_, entry.d_name);
    } else if (named(entry.d_name).process > 0 && is_worth_a_look(entry.d_name, entry.d_ino)) {
      count(entry.d_name, entry.d_ino);
    }
    return true;
  }

  Holders holders;

 private:
  using State = KnownFiles::State;

  bool is_worth_a_look(const std::string& name, ino_t file) {
    const KnownFiles::Entry* const before = known_->find(name, file);
    if (before == nullptr) {
      if (strangers_left_ > 0) {
        --strangers_left_;
        return true;
      }
      holders.crowded = true;
      return false;
    }
    if (before->state != State::surplus) return before->state == State::living;
    holders.crowded |= has_enough(before->user);
    return !has_enough(before->user);
  }

  void count(const std::string& name, ino_t file) {
    const Looked looked = look_at(*folder_, name.c_str());
    if (looked.unseen) {
      holders.crowded = true;
    } else if (!looked.locked) {
      known_->note(name, {file, State::dead, looked.user});
    } else if (has_enough(looked.user)) {
      known_->note(name, {file, State::surplus, looked.user});
      holders.crowded = true;
    } else {
      known_->note(name, {file, State::living, looked.user});
      ++of_user_[looked.user];
      ++holders.living;
      if (looked.holder) holders.list.push_back(*looked.holder);
    }
  }

  [[nodiscard]] bool has_enough(uid_t user) const {
    const auto counted = of_user_.find(user);
    return counted != of_user_.end() && counted->second >= holders_of_user_max;
  }

  const Descriptor* folder_;
  KnownFiles* known_;
  std::size_t strangers_left_;
  std::size_t drafts_left_ = drafts_max;
  std::map<uid_t, std::size_t> of_user_;
};

std::string random_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    number = static_cast<std::uint64_t>(time.tv_nsec);  // Early at boot. O_EXCL does the rest.
  }
  return fmt::format("{}.{}.{:016x}", ::getpid(), start_of(::getpid()), number);
}

bool lock(const Descriptor& file) {
  struct flock all{};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  return ::fcntl(file.number(), F_OFD_SETLK, &all) == 0;
}

}  // namespace

const KnownFiles::Entry* KnownFiles::find(const std::string& name, ino_t file) const {
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.file == file ? &found->second : nullptr;
}

void KnownFiles::note(const std::string& name, const Entry& entry) {
  // Mostly entries of deleted files. Forgotten entries are examined again.
  if (entries_.size() >= 2 * entries_max) entries_.clear();
  entries_[name] = entry;
}

Result<Holders> list_holders(const Place& place, KnownFiles* known) {
  const Result<Descriptor> outer = open_place(place);
  if (!outer) return outer.error();
  const Result<Descriptor> folder = open_holders(place, outer.value());
  if (!folder) return folder.error();
  const int copy = ::fcntl(folder.value().number(), F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    &::closedir);
  if (listing == nullptr) {
    const int code = errno;
    return Error{code, fmt::format("host limit: {}/holders: {}; {}", place.path,
                                   std::strerror(code), mended_by(code, "see k2k doctor"))};
  }
  KnownFiles nothing;
  Listing look(folder.value(), known != nullptr ? *known : nothing);
  while (const dirent* const entry = ::readdir(listing.get())) {
    if (!look.take(*entry)) break;
  }
  Holders& holders = look.holders;
  // A file that was linked to a second name is one holder.
  std::sort(holders.list.begin(), holders.list.end(),
            [](const Holder& a, const Holder& b) { return a.file < b.file; });
  holders.list.erase(std::unique(holders.list.begin(), holders.list.end(),
                                 [](const Holder& a, const Holder& b) { return a.file == b.file; }),
                     holders.list.end());
  return std::move(holders);
}

std::vector<double> parts_of(double limit, std::span<const Holder> holders) {
  std::vector<governor::Wish> wishes;
  for (const Holder& holder : holders) {
    wishes.push_back({holder.user, holder.record.cap, holder.record.demand});
  }
  return governor::divide(limit, wishes);
}

std::uint64_t start_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const std::string_view text = fields_behind_name(line);
  constexpr int field_behind_name = 20;  // starttime is the 22nd of all.
  std::size_t at = 0;
  for (int field = 1; field < field_behind_name && at != std::string_view::npos; ++field) {
    at = text.find(' ', at + 1);
  }
  std::uint64_t ticks = 0;
  if (at == std::string_view::npos || at + 1 >= text.size()) return 0;
  std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks);
  return ticks;
}

Result<Holding> Holding::create(const Place& place, const Record& record) {
  Result<Descriptor> outer = open_place(place);
  if (!outer) return outer.error();
  Result<Descriptor> folder = open_holders(place, outer.value());
  if (!folder) return folder.error();
  Holding holding;
  holding.folder_ = std::move(folder).value();
  holding.creator_ = ::getpid();
  const int in = holding.folder_.number();
  const std::string name = random_name();
  holding.name_ = std::string(draft_prefix) + name;
  // No other process may open it until it is locked: another lock would block ours.
  holding.content_ = Descriptor(::openat(in, holding.name_.c_str(),
                                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!holding.content_.open()) {
    holding.name_.clear();
    return Error{errno, in_holders(place, "a new file", errno)};
  }
  struct stat facts{};
  if (!lock(holding.content_) || ::fstat(holding.content_.number(), &facts) != 0) {
    return Error{errno, in_holders(place, "a lock", errno)};
  }
  if (Status status = holding.publish(record); !status) {
    return Error{status.error().code, in_holders(place, "a record", status.error().code)};
  }
  if (::fchmod(holding.content_.number(), 0644) != 0 ||
      ::renameat(in, holding.name_.c_str(), in, name.c_str()) != 0) {
    return Error{errno, in_holders(place, "its name", errno)};
  }
  holding.name_ = name;
  holding.file_ = facts.st_ino;
  holding.user_ = facts.st_uid;
  return holding;
}

Holding::~Holding() {
  if (!name_.empty() && creator_ == ::getpid()) ::unlinkat(folder_.number(), name_.c_str(), 0);
}

Holding::Holding(Holding&& other) noexcept
    : folder_(std::move(other.folder_)),
      content_(std::move(other.content_)),
      name_(std::exchange(other.name_, {})),
      file_(other.file_),
      user_(other.user_),
      creator_(other.creator_) {}

Holding& Holding::operator=(Holding&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(content_, other.content_);
  std::swap(name_, other.name_);
  std::swap(file_, other.file_);
  std::swap(user_, other.user_);
  std::swap(creator_, other.creator_);
  return *this;
}

Status Holding::publish(const Record& record) {
  const auto bytes = encode(record);
  const ssize_t written = ::pwrite(content_.number(), bytes.data(), bytes.size(), 0);
  if (written == static_cast<ssize_t>(bytes.size())) return {};
  const int code = written < 0 ? errno : ENOSPC;
  return Error{code, fmt::format("host limit: a holder's record: {}", std::strerror(code))};
}

}  // namespace k2k::host
