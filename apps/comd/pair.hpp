#pragma once
// Two atoms of Lennard and Jones (Jones, Proc. R. Soc. A 106, 1924): 4 (r^-12 - r^-6), cut at 2.5
// and shifted there to zero, as in CoMD (src-mpi/ljForce.c of ECP-copa/CoMD).
//
// Threading: pure functions, host and device.

#include "base/attributes.hpp"

namespace k2k::comd {

inline constexpr double cutoff = 2.5;

inline constexpr double inverse_sixth_of_cutoff =
    1 / (cutoff * cutoff * cutoff * cutoff * cutoff * cutoff);
inline constexpr double shift = 4 * inverse_sixth_of_cutoff * (inverse_sixth_of_cutoff - 1);

struct Pair {
  double energy;
  double push;  // Force by distance: times the vector from the other atom.
};

// Expects 0 < square < cutoff^2.
K2K_HD inline Pair pair_of(double square) {
  const double inverse = 1 / square;
  const double sixth = inverse * inverse * inverse;
  return {4 * sixth * (sixth - 1) - shift, 24 * inverse * sixth * (2 * sixth - 1)};
}

// The shortest of all images, where both places lie within a periodic side.
K2K_HD inline double nearest(double difference, double side) {
  if (difference > 0.5 * side) return difference - side;
  if (difference < -0.5 * side) return difference + side;
  return difference;
}

}  // namespace k2k::comd
