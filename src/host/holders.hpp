#pragma once
// The holders of the limit: one file in holders/ for each runtime that serves.
//
//   PID.START.RANDOM   owner: the user       locked for writing as long as its runtime lives
//     Record           its wish and its use, written anew at each of its looks
//
// No file is trusted. A part belongs to the file's owner, whatever the file contains. A holder
// lives as long as a lock that only its owner could take; Linux releases it when the process dies.
// The reader clamps all values (governor/parts.hpp). Links, FIFOs, and files that are short, torn
// or of another version are skipped. K2K never maps files of others (they could be truncated
// meanwhile) and never waits for them. Total numbers are bounded, and numbers per user, so that no
// user crowds others out. A runtime that looks repeatedly remembers the files that do not count
// (KnownFiles): to list a name costs a tenth of the time to open the file.
//
// Threading: a Holding or KnownFiles belongs to one thread at a time; list_holders() may be called
// from anywhere.

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
inline constexpr std::size_t entries_max = 16'384;  // Examined entries of the folder.
// The number of unknown files that one look opens; further files wait for the next look.
inline constexpr std::size_t strangers_max = 1'024;
inline constexpr std::size_t drafts_max = 64;
inline constexpr Nanoseconds period_max = std::chrono::seconds(10);

// Fractions of all cores' CPU time.
struct Record {
  std::uint64_t beat = 0;  // Incremented by each writing.
  Nanoseconds period{};    // The next writing is due after this.
  double cap = 1;          // The most that the runtime ever takes.
  double demand = 0;       // The amount that it would take now if its part were that large.
  double use = 0;          // The amount that it took since the previous writing.
};

struct Holder {
  uid_t user = 0;
  // By its own account: only for display.
  pid_t process = 0;
  std::uint64_t start = 0;  // Start time of the process, in ticks since boot (proc(5), stat).
  ino_t file = 0;
  Record record;  // Period and fractions are within their ranges.
};

struct Holders {
  std::vector<Holder> list;
  std::size_t entries = 0;  // Listed entries of any kind.
  std::size_t living = 0;   // Holders that the next look opens again.
  bool crowded = false;     // There are more entries than the limit: some are missing here.
};

// The results of a runtime's earlier looks at the files.
class KnownFiles {
 public:
  enum class State {
    living,
    surplus,  // It lives, but the limit of files per user is reached.
    dead,     // A holder's file is locked before it gets its name, so a file without a lock is dead
              // for ever.
  };
  struct Entry {
    ino_t file = 0;
    State state = State::dead;
    uid_t user = 0;
  };
  // nullptr: not examined yet.
  [[nodiscard]] const Entry* find(const std::string& name, ino_t file) const;
  void note(const std::string& name, const Entry& entry);
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  std::unordered_map<std::string, Entry> entries_;
};

// Lists the living holders. Unlinks the files of dead ones, where the caller may. With `known`,
// files that earlier looks found not to count are not opened again.
// Errors: as open_place() and open_holders(); EMFILE and similar errors.
Result<Holders> list_holders(const Place& place, KnownFiles* known = nullptr);

// Parts of the limit, in the order of the list.
std::vector<double> parts_of(double limit, std::span<const Holder> holders);

// In ticks since boot; 0 if unknown.
std::uint64_t start_of(pid_t process);

// This runtime's file.
class Holding {
 public:
  // Errors: as open_place() and open_holders(); EACCES, EROFS, ENOSPC and others of creating a
  // file, each with the remedy.
  static Result<Holding> create(const Place& place, const Record& record);
  ~Holding();
  Holding(Holding&&) noexcept;
  Holding& operator=(Holding&&) noexcept;

  // Errors: of writing a file.
  Status publish(const Record& record);
  [[nodiscard]] ino_t file() const { return file_; }
  [[nodiscard]] uid_t user() const { return user_; }

 private:
  Holding() = default;
  Descriptor folder_;
  Descriptor content_;
  std::string name_;  // "": no file to unlink.
  ino_t file_ = 0;
  uid_t user_ = 0;
  pid_t creator_ = 0;  // A child of fork() leaves the parent's file alone.
};

}  // namespace k2k::host
