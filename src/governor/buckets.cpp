#include "governor/buckets.hpp"

#include <algorithm>

namespace k2k::governor {

Buckets::Buckets(double rate, const std::vector<Account>& accounts, double level, Instant now)
    : last_(now) {
  std::vector<double> guarantees;
  for (const Account& account : accounts) {
    accounts_.push_back({std::min(level, account.burst), 0, 0, account.weight, account.burst});
    guarantees.push_back(account.guarantee);
  }
  change(rate, guarantees);
}

void Buckets::refill(Instant now) {
  if (now <= last_) return;
  const auto elapsed = static_cast<double>((now - last_).count());
  last_ = now;
  double beyond = 0;
  for (State& account : accounts_) {
    account.level += elapsed * account.rate;
    if (!full(account)) continue;
    beyond += account.level - limit(account);
    account.level = limit(account);
  }
  if (beyond > 0 && accounts_.size() > 1) share_out(beyond);
}

void Buckets::share_out(double tokens) {
  // Each round but the last fills a bucket.
  for (std::size_t round = 0; round < accounts_.size() && tokens > 0; ++round) {
    double weights = 0;
    for (const State& account : accounts_) weights += full(account) ? 0 : account.weight;
    if (weights <= 0) return;  // All are idle: the tokens are lost.
    double beyond = 0;
    for (State& account : accounts_) {
      if (full(account)) continue;
      account.level += tokens * account.weight / weights;
      if (!full(account)) continue;
      beyond += account.level - limit(account);
      account.level = limit(account);
    }
    tokens = beyond;
  }
}

double Buckets::flow(Tenant tenant) const {
  const State& own = accounts_[tenant];
  if (accounts_.size() == 1) return own.rate;
  double spare = 0;
  double weights = 0;
  for (const State& account : accounts_) {
    (full(account) ? spare : weights) += full(account) ? account.rate : account.weight;
  }
  return full(own) ? own.rate : own.rate + spare * own.weight / weights;
}

double Buckets::burst_total() const {
  double total = 0;
  for (const State& account : accounts_) total += account.burst;
  return total;
}

void Buckets::set_burst(Tenant tenant, double burst) {
  State& account = accounts_[tenant];
  account.burst = burst;
  account.level = std::min(account.level, limit(account));
}

void Buckets::change(double rate, const std::vector<double>& guarantees) {
  double guaranteed = 0;
  double weights = 0;
  for (std::size_t index = 0; index < accounts_.size(); ++index) {
    guaranteed += guarantees[index];
    weights += accounts_[index].weight;
  }
  const double scale = guaranteed > rate ? rate / guaranteed : 1;
  const double rest = std::max(0.0, rate - guaranteed * scale);  // Rounding must not create a debt.
  for (std::size_t index = 0; index < accounts_.size(); ++index) {
    State& account = accounts_[index];
    account.rate = guarantees[index] * scale + rest * account.weight / weights;
  }
}

}  // namespace k2k::governor
