#include "host/share.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/limit.hpp"

namespace k2k::host {

namespace {

constexpr Nanoseconds period_without_limit = std::chrono::seconds(1);
constexpr Nanoseconds period_min = std::chrono::milliseconds(100);
constexpr Nanoseconds period_idle = std::chrono::seconds(1);
// 1.8 us of CPU time for a file that is opened and read, 0.4 us for a name.
constexpr Nanoseconds period_of_holder = std::chrono::milliseconds(5);
constexpr Nanoseconds period_of_name = std::chrono::microseconds(100);
// A refresh on a core that was asleep, its wake-up included, and its reading of one holder.
constexpr Nanoseconds cost_of_refresh = std::chrono::microseconds(180);
constexpr Nanoseconds cost_of_holder = std::chrono::microseconds(2);
// The refreshes of all runtimes together take at most this portion of a limit, unless a runtime
// would then wait for longer than this.
constexpr double portion_of_refreshes = 0.1;
constexpr Nanoseconds shared_period_max = std::chrono::seconds(3);
// A beat that stands still this long, or for as many of its periods, is of a holder that does
// nothing.
constexpr Nanoseconds stale_min = std::chrono::seconds(2);
constexpr int stale_periods = 3;
constexpr double headroom = 1.25;
constexpr double demand_least = 1e-6;

}  // namespace

Nanoseconds shared_period(std::size_t holders, double limit, std::uint32_t cores) {
  const double count = static_cast<double>(holders);
  const double work = count * (static_cast<double>(cost_of_refresh.count()) +
                               count * static_cast<double>(cost_of_holder.count()));
  const double period = std::min(work / (portion_of_refreshes * limit * cores),
                                 static_cast<double>(shared_period_max.count()));
  return std::max(Nanoseconds(static_cast<std::int64_t>(period)), period_min);
}

Share::Share(std::string override_path, std::uint32_t cores)
    : override_path_(std::move(override_path)), cores_(cores) {}

Status Share::refresh(Instant now, const Own& own) {
  if (own.cores != 0) cores_ = own.cores;
  Status status = refresh_part(now, own);
  Nanoseconds period = period_without_limit;
  if (limit_) {
    const Nanoseconds wanted = std::max(work_, shared_period(holders_, *limit_, cores_));
    period = std::clamp(wanted, idle() ? period_idle : period_min, period_max);
  }
  record_.period = period;  // Published with the next writing.
  due_ = now + period;
  return status;
}

Status Share::refresh_part(Instant now, const Own& own) {
  const Place place = place_of(override_path_);
  const Result<std::optional<double>> limit = read_limit(place);
  if (!limit) return limit.error();
  if (!limit.value() || place.path != path_) let_go();
  path_ = place.path;
  if (!limit.value()) return {};
  limit_ = limit.value();
  Status status = take_part(now, place, own);
  // A runtime that cannot publish its record keeps its last part, or gets the limit as if it were
  // alone.
  const double most = std::min(*limit_, own.cap);
  if (!status) part_ = part_ > 0 ? std::min(part_, most) : most;
  return status;
}

Status Share::take_part(Instant now, const Place& place, const Own& own) {
  const bool first = !holding_;
  if (first) {
    record_ = {.beat = 0, .period = period_min, .cap = own.cap, .demand = 0, .use = 0};
    if (Status status = hold(place); !status) return status;
    refreshed_at_ = now;
    before_ = own;
  }
  const double time = static_cast<double>((now - refreshed_at_).count()) * cores_;
  const double use = time > 0 ? static_cast<double>((own.used - before_.used).count()) / time : 0;
  const double demand_before = record_.demand;
  record_.cap = own.cap;
  // A new runtime's demand is its whole cap: otherwise a short program would end before its demand
  // counts.
  record_.demand = first ? own.cap : demand(own, use);
  record_.use = std::clamp(use, 0.0, 1.0);
  ++record_.beat;
  refreshed_at_ = now;
  before_ = own;
  if (Status status = holding_->publish(record_); !status) return status;
  const Result<double> part = divide(now, place, demand_before);
  if (part) part_ = part.value();
  return part ? Status() : Status(part.error());
}

Status Share::hold(const Place& place) {
  Result<Holding> created = Holding::create(place, record_);
  if (!created) return created.error();
  holding_ = std::move(created).value();
  return {};
}

void Share::let_go() {
  limit_.reset();
  holding_.reset();
  seen_.clear();
  known_ = {};
  part_ = 0;
  holders_ = 0;
}

double Share::demand(const Own& own, double use) const {
  if (own.waits_now || own.waits != before_.waits) return own.cap;
  if (use <= 0) return 0;
  const double half = std::min(record_.demand, part_) / 2;
  const double wanted = std::min(std::max(use * headroom, half), own.cap);
  return wanted < demand_least ? 0 : wanted;
}

bool Share::is_stale(Instant now, const Holder& holder, std::map<ino_t, Seen>& seen) const {
  const auto known = seen_.find(holder.file);
  const bool beats = known == seen_.end() || known->second.beat != holder.record.beat;
  const Seen latest = beats ? Seen{holder.record.beat, now} : known->second;
  seen[holder.file] = latest;
  return now - latest.since > std::max(stale_min, stale_periods * holder.record.period);
}

Result<double> Share::divide(Instant now, const Place& place, double demand_before) {
  const Result<Holders> all = list_holders(place, &known_);
  if (!all) return all.error();
  work_ = static_cast<std::int64_t>(all.value().living) * period_of_holder +
          static_cast<std::int64_t>(all.value().entries) * period_of_name;
  std::vector<Holder> living;
  std::map<ino_t, Seen> seen;
  bool own_listed = false;
  for (const Holder& holder : all.value().list) {
    const bool is_own = holder.file == holding_->file();
    own_listed |= is_own;
    if (!is_own && !is_stale(now, holder, seen)) living.push_back(holder);
  }
  // Our file was removed: make a new one if there is room for it.
  if (!own_listed && !all.value().crowded) {
    if (Status status = hold(place); !status) return status.error();
  }
  seen_ = std::move(seen);
  holders_ = living.size() + 1;
  Holder own;
  own.user = holding_->user();
  own.file = holding_->file();
  own.record = record_;
  living.push_back(own);
  const double with_new = parts_of(*limit_, living).back();
  living.back().record.demand = std::min(record_.demand, demand_before);
  const double with_old = parts_of(*limit_, living).back();
  return std::min(with_new, with_old);
}

}  // namespace k2k::host
