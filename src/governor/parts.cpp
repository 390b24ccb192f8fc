#include "governor/parts.hpp"

#include <algorithm>
#include <numeric>

namespace k2k::governor {

namespace {

double fraction(double value) { return value > 0 ? std::min(value, 1.0) : 0; }  // NaN is not > 0.

// The processes of one user, as indices into the list of wishes.
using Group = std::vector<std::size_t>;

std::vector<Group> groups_of(std::span<const Wish> wishes) {
  Group order(wishes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Sums are computed in an order that does not depend on the order of the wishes.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Wish& one = wishes[a];
    const Wish& other = wishes[b];
    if (one.user != other.user) return one.user < other.user;
    const double want_a = std::min(fraction(one.demand), fraction(one.cap));
    const double want_b = std::min(fraction(other.demand), fraction(other.cap));
    if (want_a != want_b) return want_a < want_b;
    return fraction(one.cap) < fraction(other.cap);
  });
  std::vector<Group> groups;
  for (const std::size_t place : order) {
    if (groups.empty() || wishes[groups.back().front()].user != wishes[place].user) {
      groups.emplace_back();
    }
    groups.back().push_back(place);
  }
  return groups;
}

// Divides `total` and adds the amounts to `parts`. Returns the amount that no group wanted.
double fill_groups(double total, const std::vector<Group>& groups, std::span<const double> wanted,
                   std::vector<double>& parts) {
  std::vector<double> by_user;
  for (const Group& group : groups) {
    double sum = 0;
    for (const std::size_t place : group) sum += wanted[place];
    by_user.push_back(sum);
  }
  const std::vector<double> of_user = fill(total, by_user);
  double left = total;
  for (std::size_t user = 0; user < groups.size(); ++user) {
    std::vector<double> of_process;
    for (const std::size_t place : groups[user]) of_process.push_back(wanted[place]);
    of_process = fill(of_user[user], of_process);
    for (std::size_t process = 0; process < of_process.size(); ++process) {
      parts[groups[user][process]] += of_process[process];
      left -= of_process[process];
    }
  }
  return std::max(left, 0.0);
}

}  // namespace

std::vector<double> fill(double total, std::span<const double> wanted) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  std::vector<double> amounts(wanted.size());
  double left = total;
  std::size_t waiting = wanted.size();
  for (const std::size_t place : order) {
    amounts[place] = std::min(wanted[place], left / static_cast<double>(waiting));
    left -= amounts[place];
    --waiting;
  }
  return amounts;
}

std::vector<double> divide(double limit, std::span<const Wish> wishes) {
  const double total = fraction(limit);
  const std::vector<Group> groups = groups_of(wishes);
  std::vector<double> parts(wishes.size());
  std::vector<double> wanted;
  for (const Wish& wish : wishes) {
    wanted.push_back(std::min(fraction(wish.demand), fraction(wish.cap)));
  }
  const double left = fill_groups(total, groups, wanted, parts);
  for (std::size_t place = 0; place < wishes.size(); ++place) {
    wanted[place] = std::max(fraction(wishes[place].cap) - parts[place], 0.0);
  }
  fill_groups(left, groups, wanted, parts);
  return parts;
}

}  // namespace k2k::governor
