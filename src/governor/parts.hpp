#pragma once
// One limit, many processes: which part of it is whose? Everybody computes the same from the same
// wishes, so nobody has to be asked.
//
//   1. users        max-min fair: nobody gets more than he wants while another has less than he
//   wants
//   2. processes    of a user, the same, out of the user's part
//   3. what is left over, by the same two steps, up to what each process would ever take: so a
//      process whose demand rises need not wait, and a lone one has it all
//
// By users first, so that many processes, or a wish that lies, take nothing from another user's
// fair share. Source: max-min fairness by water-filling (Bertsekas and Gallager, Data
// Networks, 6.5.2).
//
// Threading: pure functions. O(n log n); they allocate, so they are not for the path of a request.

#include <cstdint>
#include <span>
#include <vector>

namespace k2k::governor {

// Fractions of all cores' CPU time. What is no number counts as 0, what is outside 0 to 1 as the
// nearer of the two.
struct Wish {
  std::uint32_t user = 0;
  double cap = 1;     // It never takes more.
  double demand = 1;  // What it would take now if it had a part as large.
};

// Parts in the order of the wishes. Their sum is at most `limit`; no part is above its cap. A wish
// of at most limit / users / (processes of its user) is granted whole.
std::vector<double> divide(double limit, std::span<const Wish> wishes);

// Max-min fair amounts, at most `total` together, each at most what is wanted (>= 0).
std::vector<double> fill(double total, std::span<const double> wanted);

}  // namespace k2k::governor
