#pragma once
// A runtime's part of the host limit, which its server queries periodically.
//
//   refresh() ──▶ is there a limit?  no: no part to hold
//              └ yes: publish own demand ─▶ read the others' ─▶ divide (governor/parts.hpp)
//
// Demand: all that it may take, if it had to wait since the last refresh; otherwise a quarter more
// than it used. It falls by at most half per refresh, so that a bursty load keeps its part between
// bursts.
//
// A part falls at once and rises one refresh later: by then all runtimes have seen the demand that
// raised it, so the parts in force never exceed the limit together. A holder with an old beat (an
// idle runtime, a stopped process) does not count.
//
// A refresh costs some microseconds for each holder, and a tenth for each other name in the folder.
// The next refresh is due after shared_period(), or after 5 ms for each holder and 0.1 ms for each
// name if that is longer: 256 holders per user and 16,384 names count, so a user who fills the
// folder delays the others' refreshes by at most 3 s. While no demand exists, the least interval is
// a second.
//
// Threading: one caller at a time.

#include <map>
#include <optional>

#include "base/result.hpp"
#include "base/units.hpp"
#include "host/holders.hpp"

namespace k2k::host {

// The period in which `holders` runtimes refresh, so that their refreshes together take at most a
// tenth of `limit`: 100 ms to 3 s. It depends only on what all of them see, so all have the same: a
// part rises after one period, when the others have seen its demand. Expects `limit` and `cores`
// above 0.
Nanoseconds shared_period(std::size_t holders, double limit, std::uint32_t cores);

class Share {
 public:
  // The runtime's activity so far.
  struct Own {
    double cap = 1;           // Its own cap; 1: none.
    Nanoseconds used{};       // CPU time of its service threads.
    std::uint64_t waits = 0;  // Number of waits for budget.
    bool waits_now = false;   // A service thread waits now.
    std::uint32_t cores = 0;  // Online since the last refresh; 0: as before.
  };

  // `override_path` as for place_of(); `cores` share the limit until a refresh tells others.
  explicit Share(std::string override_path, std::uint32_t cores);

  // Errors: as read_limit(): limit and part stay unchanged. As Holding::create() and
  // list_holders(): the part is at most the previous part, or the limit if there was none.
  Status refresh(Instant now, const Own& own);
  // The time of the next refresh.
  [[nodiscard]] Instant due() const { return due_; }

  [[nodiscard]] const std::optional<double>& limit() const { return limit_; }
  // Fraction of all cores' CPU time; 0 while there is no limit.
  [[nodiscard]] double part() const { return part_; }
  [[nodiscard]] std::size_t holders() const { return holders_; }
  // True if its last demand was zero: a new demand justifies another refresh.
  [[nodiscard]] bool idle() const { return limit_.has_value() && record_.demand <= 0; }

 private:
  struct Seen {
    std::uint64_t beat = 0;
    Instant since{};  // Since when it has this beat.
  };

  Status refresh_part(Instant now, const Own& own);
  Status take_part(Instant now, const Place& place, const Own& own);
  Status hold(const Place& place);
  void let_go();
  // The runtime's demand, from its use since the last refresh.
  [[nodiscard]] double demand(const Own& own, double use) const;
  Result<double> divide(Instant now, const Place& place, double demand_before);
  [[nodiscard]] bool is_stale(Instant now, const Holder& holder, std::map<ino_t, Seen>& seen) const;

  const std::string override_path_;
  std::uint32_t cores_;
  Instant due_{};
  std::optional<double> limit_;
  double part_ = 0;
  std::size_t holders_ = 0;
  Nanoseconds work_{};  // The work of the last refresh; it determines the time of the next.
  KnownFiles known_;
  std::string path_;  // Of the folder with its file.
  std::optional<Holding> holding_;
  Record record_;  // As published last.
  Instant refreshed_at_{};
  Own before_;
  std::map<ino_t, Seen> seen_;
};

}  // namespace k2k::host
