#pragma once
// The budget and its parts: one token bucket per tenant, which may be in debt.
//
// A token is a nanosecond of CPU time. Together the buckets gain `rate` tokens a nanosecond (a rate
// of 1 is one core): each tenant its guarantee, and a part of the rest by its weight. The tokens
// that a full bucket cannot take are divided by weight among the buckets that are not full. So a
// tenant borrows only tokens that idle tenants leave, and nothing has to be given back. The sum of
// all levels never gains more than `rate`, and no level exceeds its burst, hence in any time T
//
//
//   tokens taken  <=  rate x T + sum of bursts + tokens taken beyond zero.
//
// Reserved tokens count as if they were still in the bucket; otherwise they could be saved twice.
//
// Cost: O(tenants) per refill; with one tenant one multiplication.
//
// Threading: the caller serialises.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "governor/governor.hpp"

namespace k2k::governor {

class Buckets {
 public:
  struct Account {
    double weight = 1;
    double guarantee = 0;  // Tokens a nanosecond.
    double burst = 0;      // Tokens; > 0.
  };

  // Each bucket begins with `level` tokens, at most its burst.
  Buckets(double rate, const std::vector<Account>& accounts, double level, Instant now);

  // An earlier moment than the last one changes nothing.
  void refill(Instant now);
  // As of the last refill.
  [[nodiscard]] double level(Tenant tenant) const { return accounts_[tenant].level; }
  [[nodiscard]] double reserved(Tenant tenant) const { return accounts_[tenant].reserved; }
  // Reserves tokens; until they are settled, the bucket's capacity is smaller by as much.
  void reserve(Tenant tenant, double tokens) {
    State& account = accounts_[tenant];
    account.level -= tokens;
    account.reserved += tokens;
  }
  // Takes `spent` and gives `reserved` back. Expects a refill at the same moment: otherwise, time
  // in which the bucket was full would pay for later tokens.
  void settle(Tenant tenant, double reserved, double spent) {
    State& account = accounts_[tenant];
    account.reserved -= reserved;
    account.level = std::min(account.level + reserved - spent, limit(account));
  }
  // Tokens per nanosecond that flow to the tenant now: its part, and its portion of the tokens that
  // full buckets leave.
  [[nodiscard]] double flow(Tenant tenant) const;
  // Without the tokens that full buckets leave.
  [[nodiscard]] double part(Tenant tenant) const { return accounts_[tenant].rate; }
  [[nodiscard]] double burst(Tenant tenant) const { return accounts_[tenant].burst; }
  [[nodiscard]] double burst_total() const;

  // Both expect a refill at the moment of the change. Tokens above a new burst are lost.
  void set_burst(Tenant tenant, double burst);
  // Guarantees beyond `rate` are scaled down to it.
  void change(double rate, const std::vector<double>& guarantees);

 private:
  struct State {
    double level;
    double reserved;
    double rate;  // The tenant's part.
    double weight;
    double burst;
  };
  [[nodiscard]] static double limit(const State& account) {
    return account.burst - account.reserved;
  }
  [[nodiscard]] static bool full(const State& account) { return account.level >= limit(account); }
  // Distributes the tokens among the buckets that are not full.
  void share_out(double tokens);

  std::vector<State> accounts_;
  Instant last_;
};

}  // namespace k2k::governor
