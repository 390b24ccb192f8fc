#pragma once
// The lookup of macroscopic cross-sections with a unionised energy grid (Tramm et al., PHYSOR'14):
// one binary search over all energies, then, for each nuclide of the material, a row of indices
// gives the nuclide's grid points around the energy.
//
// The energies, indices and samples may come from a file that is wrong or changes: each word that
// leads a lookup further is checked before its use. The materials were judged by the host.
//
// Threading: device code and host code; a part (first, step) may run beside the others. C++17.

#include <cstdint>
#include <cstring>

#include "apps/common/check_words.hpp"
#include "apps/common/counter_random.hpp"
#include "apps/common/lookup_totals.hpp"
#include "device/k2k.hpp"

namespace k2k::xsbench {

// Total, elastic, absorption, fission, and neutrons per fission.
inline constexpr std::uint32_t channel_count = 5;

struct Point {
  double energy;
  double xs[channel_count];
};

// One material: a range of `material_nuclides` and `concentrations`.
struct Material {
  std::uint32_t begin;
  std::uint32_t end;
};
inline constexpr std::uint32_t material_count = 12;

struct Answer {
  double sum;             // Of the five macroscopic cross-sections.
  std::uint32_t largest;  // The index of the largest.
};

// What is looked up.
struct Sample {
  double energy;  // 0 <= energy < 1.
  std::uint32_t material;
  std::uint32_t zero;
};

// The reasons why a lookup ends.
enum class Wrong : std::uint8_t {
  nothing,
  energy,    // Of a sample: not in its range.
  material,  // Of a sample: none of the materials.
  index,     // Of a row of the unionised grid: beyond a nuclide's points.
};

// The sample of a lookup: counter-based random numbers, drawn as by a history-based transport code.
// `sorted`: the number of lookups of which this is one, in the order of their energies; 0: in any
// order.
K2K_HD inline Sample sample_of(std::uint64_t seed, std::uint64_t lookup, std::uint64_t sorted = 0) {
  // Cumulative per cent of lookups that hit each material: mostly fuel (0), cladding (3) and water
  // (4), rounded from the Hoogenboom-Martin reactor that XSBench takes.
  constexpr std::uint32_t until[material_count] = {14, 19, 46, 60, 75, 81, 88, 94, 95, 97, 99, 100};
  const std::uint32_t percent = apps::below(100, apps::draw(seed, 2 * lookup));
  std::uint32_t material = 0;
  while (until[material] <= percent) ++material;
  const double energy = apps::unit(apps::draw(seed, 2 * lookup + 1));
  if (sorted == 0) return {energy, material, 0};
  return {(static_cast<double>(lookup) + energy) / static_cast<double>(sorted), material, 0};
}

// Adds a nuclide's cross-sections at `energy`, interpolated linearly between two grid points.
K2K_HD inline void add_nuclide(const Point& low, const Point& high, double energy,
                               double concentration, double (&macroscopic)[channel_count]) {
  const double part = (high.energy - energy) / (high.energy - low.energy);
  for (std::uint32_t channel = 0; channel < channel_count; ++channel) {
    const double xs = high.xs[channel] - part * (high.xs[channel] - low.xs[channel]);
    macroscopic[channel] += concentration * xs;
  }
}

K2K_HD inline Answer answer_of(const double (&macroscopic)[channel_count]) {
  Answer answer{0, 0};
  for (std::uint32_t channel = 0; channel < channel_count; ++channel) {
    answer.sum += macroscopic[channel];
    if (macroscopic[channel] > macroscopic[answer.largest]) answer.largest = channel;
  }
  return answer;
}

K2K_HD inline std::uint64_t bits_of(const Sample& sample, const Answer& answer) {
  std::uint64_t words[4] = {0, sample.material, 0, answer.largest};
  memcpy(&words[0], &sample.energy, sizeof(double));
  memcpy(&words[2], &answer.sum, sizeof(double));
  return apps::check_of_words(words, 4);
}

struct Lookup {
  const double* energies = nullptr;  // Of all nuclides, ascending: the unionised grid.
  std::uint64_t energy_count = 0;
  // [energy][nuclide]: the nuclide's grid point at or below it.
  const std::uint32_t* indices = nullptr;
  std::uint32_t nuclides = 0;
  const Point* points = nullptr;  // [nuclide][grid point]
  std::uint32_t grid_points = 0;
  const Material* materials = nullptr;
  const std::uint32_t* material_nuclides = nullptr;
  const double* concentrations = nullptr;
  Answer* answers = nullptr;
  std::uint64_t lookups = 0;
  const Sample* samples = nullptr;  // nullptr: each is drawn, by the two numbers that follow.
  std::uint64_t seed = 0;
  std::uint64_t sorted = 0;              // See sample_of().
  std::uint32_t turn = 1;                // Neighbouring lookups that an item takes at a time.
  apps::LookupTotals* totals = nullptr;  // nullptr: not wanted.

  K2K_HD void run(std::uint64_t first, std::uint64_t step) const {
    apps::LookupTotals part;
    apps::for_my_lookups(lookups, turn, first, step, [&](std::uint64_t lookup) {
      const Sample sample = samples != nullptr ? samples[lookup] : sample_of(seed, lookup, sorted);
      Answer answer{0, 0};
      const std::uint64_t wrong = look_up(lookup, sample, answer);
      answers[lookup] = answer;
      if (totals == nullptr) return;
      ++part.found;
      part.bits += bits_of(sample, answer);
      if (wrong < part.wrong) part.wrong = wrong;
    });
    if (totals != nullptr) apps::add_totals(*totals, part);
  }

  K2K_DEVICE void operator()() const { run(k2k::global_rank(), k2k::global_size()); }

 private:
  // Returns no_wrong, or the place and the reason: of the sample, or of the row of indices.
  K2K_HD std::uint64_t look_up(std::uint64_t lookup, const Sample& sample, Answer& answer) const {
    if (!(sample.energy >= 0 && sample.energy < 1)) return wrong_at(lookup, Wrong::energy);
    if (sample.material >= material_count) return wrong_at(lookup, Wrong::material);
    const std::uint64_t place = place_of(sample.energy);
    const std::uint32_t* const row = indices + place * nuclides;
    const Material material = materials[sample.material];
    double macroscopic[channel_count] = {};
    for (std::uint32_t entry = material.begin; entry < material.end; ++entry) {
      const std::uint32_t nuclide = material_nuclides[entry];
      const std::uint32_t index = row[nuclide];
      if (index >= grid_points - 1) return wrong_at(place, Wrong::index);
      const Point* const low = points + std::uint64_t{nuclide} * grid_points + index;
      add_nuclide(low[0], low[1], sample.energy, concentrations[entry], macroscopic);
    }
    answer = answer_of(macroscopic);
    return apps::no_wrong;
  }

  K2K_HD static std::uint64_t wrong_at(std::uint64_t place, Wrong wrong) {
    return apps::wrong_at(place, static_cast<std::uint8_t>(wrong));
  }

  // The last energy at or below `energy`; the first if there is none.
  K2K_HD std::uint64_t place_of(double energy) const {
    std::uint64_t low = 0;
    std::uint64_t high = energy_count;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (energies[middle] <= energy) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

}  // namespace k2k::xsbench
