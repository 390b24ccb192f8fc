#pragma once
// Who holds a part of the limit: one file in holders/ for each runtime that serves.
//
//   PID.START.RANDOM   owner: the user       locked for writing as long as its runtime lives
//     Record           what it wishes and uses, written anew at each of its looks
//
// Nobody is trusted. Whose a part is, is the file's owner, not what the file says; whether it lives
// is a lock that only its owner could take and that the kernel takes back when the process dies.
// What is said is clamped by who reads it (governor/parts.hpp). Links, FIFOs, files that are short,
// torn or of another version are passed over. Nothing of others is mapped (they could truncate it
// under us) or waited for. Numbers are bounded, a user's too, so that nobody crowds others out by
// being many. Who looks again and again remembers which files count for nothing (KnownFiles): to
// list a name costs a tenth of what it costs to open the file.
//
// Threading: a Holding or KnownFiles belongs to one thread at a time; list_holders() may be called
// by any.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "host/place.hpp"

namespace k2k::host {

inline constexpr std::size_t holders_max = 4096;
inline constexpr std::size_t holders_of_user_max = 256;
inline constexpr std::size_t entries_max = 16'384;  // Of the folder, looked at.
// Opened by one look, of those that are new to it; the others wait for the next.
inline constexpr std::size_t strangers_max = 1'024;
inline constexpr std::size_t drafts_max = 64;
inline constexpr Nanoseconds period_max = std::chrono::seconds(10);

// Fractions of all cores' CPU time.
struct Record {
  std::uint64_t beat = 0;  // Goes up with each writing.
  Nanoseconds period{};    // The next writing is due after this.
  double cap = 1;          // It never takes more.
  double demand = 0;       // What it would take if it had a part as large.
  double use = 0;          // What it took since the writing before.
};

struct Holder {
  uid_t user = 0;
  // By its own account: for people.
  pid_t process = 0;
  std::uint64_t start = 0;  // Of the process, in ticks since boot (proc(5), stat).
  ino_t file = 0;
  Record record;  // Period and fractions are within their ranges.
};

struct Holders {
  std::vector<Holder> list;
  std::size_t entries = 0;  // That were listed, whatever they are.
  std::size_t living = 0;   // That the next look opens again.
  bool crowded = false;     // There is more than may be looked at: some are missing.
};

// What earlier looks of one runtime found the files to be.
class KnownFiles {
 public:
  enum class State {
    living,
    surplus,  // It lives, but its user has as many as count.
    dead,     // A holder's file is locked before it has its name: what is not locked never will be.
  };
  struct Entry {
    ino_t file = 0;
    State state = State::dead;
    uid_t user = 0;
  };
  // Null: nobody looked yet.
  [[nodiscard]] const Entry* find(const std::string& name, ino_t file) const;
  void note(const std::string& name, const Entry& entry);
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  std::unordered_map<std::string, Entry> entries_;
};

// Those that live. Unlinks what dead ones left, where the caller may. With `known`, files that
// looks before found to count for nothing are not opened again.
// Errors: those of open_place() and open_holders(); EMFILE and the like.
Result<Holders> list_holders(const Place& place, KnownFiles* known = nullptr);

// Parts of the limit, in the order of the list.
std::vector<double> parts_of(double limit, std::span<const Holder> holders);

// In ticks since boot; 0 if it cannot be told.
std::uint64_t start_of(pid_t process);

// This runtime's file.
class Holding {
 public:
  // Errors: those of open_place() and open_holders(); EACCES, EROFS, ENOSPC and others of creating
  // a file, each with the fix.
  static Result<Holding> create(const Place& place, const Record& record);
  ~Holding();
  Holding(Holding&&) noexcept;
  Holding& operator=(Holding&&) noexcept;

  // Errors: those of writing a file.
  Status publish(const Record& record);
  [[nodiscard]] ino_t file() const { return file_; }
  [[nodiscard]] uid_t user() const { return user_; }

 private:
  Holding() = default;
  Descriptor folder_;
  Descriptor content_;
  std::string name_;  // "" = nothing to unlink.
  ino_t file_ = 0;
  uid_t user_ = 0;
  pid_t creator_ = 0;  // A child of fork() leaves the parent's file alone.
};

}  // namespace k2k::host
