#pragma once
// A runtime's part of the host limit, which its server queries periodically.
//
//   look() ──▶ is there a limit?  no: nothing to hold
//              └ yes: publish own demand ─▶ read the others' ─▶ divide (governor/parts.hpp)
//
// Demand: all it may take, if it had to wait since the last look; else a quarter more than it used,
// and it falls by half a look at most, so that what comes in bursts keeps its part between them.
//
// A part falls at once and rises a look later: by then everybody has seen the demand that raised
// it, so that the parts in force are together no more than the limit. A holder whose beat stands
// still (an idle runtime, a stopped process) counts nothing.
//
// A look costs some microseconds for each holder, and a tenth for each other name in the folder.
// The next one is due after 5 ms for each holder and 0.1 ms for each name: 256 holders count of a
// user and 16,384 names, so who fills the folder delays the others' looks by 3 s at most. It is due
// after 100 ms at least, and a second while nothing is wanted.
//
// Threading: one caller at a time.

#include <map>
#include <optional>

#include "base/result.hpp"
#include "base/units.hpp"
#include "host/holders.hpp"

namespace k2k::host {

class Share {
 public:
  // What the runtime did up to now.
  struct Own {
    double cap = 1;           // Of its own; 1 = none.
    Nanoseconds used{};       // CPU time of its service threads.
    std::uint64_t waits = 0;  // Times they had to wait for budget.
    bool waits_now = false;   // A service thread waits now.
  };

  // `override_path` as of place_of(); `cores` share the limit.
  explicit Share(std::string override_path, std::uint32_t cores);

  // Errors: those of read_limit(): limit and part stay. Those of Holding::create() and
  // list_holders(): the part is at most what it was, or the limit if there was none.
  Status look(Instant now, const Own& own);
  // The next look.
  [[nodiscard]] Instant due() const { return due_; }

  [[nodiscard]] const std::optional<double>& limit() const { return limit_; }
  // Fraction of all cores' CPU time; 0 while there is no limit.
  [[nodiscard]] double part() const { return part_; }
  [[nodiscard]] std::size_t holders() const { return holders_; }
  // True if its last demand was zero: a new demand is worth another look.
  [[nodiscard]] bool idle() const { return limit_.has_value() && record_.demand <= 0; }

 private:
  struct Seen {
    std::uint64_t beat = 0;
    Instant since{};  // It has this beat.
  };

  Status look_at(Instant now, const Own& own);
  Status take_part(Instant now, const Place& place, const Own& own);
  Status hold(const Place& place);
  void let_go();
  // The runtime's demand, from its use since the last look.
  [[nodiscard]] double demand(const Own& own, double use) const;
  Result<double> divide(Instant now, const Place& place, double demand_before);
  [[nodiscard]] bool is_stale(Instant now, const Holder& holder, std::map<ino_t, Seen>& seen) const;

  const std::string override_path_;
  const std::uint32_t cores_;
  Instant due_{};
  std::optional<double> limit_;
  double part_ = 0;
  std::size_t holders_ = 0;
  Nanoseconds work_{};  // What the last look asks of the next one's distance.
  KnownFiles known_;
  std::string path_;  // Of the place where it holds.
  std::optional<Holding> holding_;
  Record record_;  // As it was published last.
  Instant looked_at_{};
  Own before_;
  std::map<ino_t, Seen> seen_;
};

}  // namespace k2k::host
