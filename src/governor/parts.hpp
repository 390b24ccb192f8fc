#pragma once
// Divides one limit among many processes. Every process computes the same parts from the same
// wishes, so no central authority is needed.
//
//   1. users        max-min fair: no user gets more than it wants while another has less than it
//                   wants
//   2. processes    of a user, the same, out of the user's part
//   3. the rest     by the same two steps, up to the cap of each process: so a process with rising
//                   demand need not wait, and a single process has all of the limit
//
// Users come first, so that many processes, or a false wish, take nothing from another user's
// fair share. Source: max-min fairness by water-filling (Bertsekas and Gallager, Data
// Networks, 6.5.2).
//
// Threading: pure functions. O(n log n); they allocate, so do not call them on the path of a
// request.

#include <cstdint>
#include <span>
#include <vector>

namespace k2k::governor {

// Fractions of all cores' CPU time. NaN counts as 0; values outside 0 to 1 as the nearer of the
// two.
struct Wish {
  std::uint32_t user = 0;
  double cap = 1;     // The most that it ever takes.
  double demand = 1;  // The amount that it would take now if its part were that large.
};

// Parts in the order of the wishes. Their sum is at most `limit`; no part exceeds its cap. A wish
// of at most limit / users / (processes of its user) is granted completely.
std::vector<double> divide(double limit, std::span<const Wish> wishes);

// Max-min fair amounts, at most `total` together, each at most the wanted amount (>= 0).
std::vector<double> fill(double total, std::span<const double> wanted);

}  // namespace k2k::governor
