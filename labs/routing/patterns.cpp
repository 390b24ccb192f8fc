#include "labs/routing/patterns.hpp"

#include <algorithm>
#include <cmath>

namespace k2k::labs::routing {

namespace {

using Random = std::mt19937_64;
using Pages = std::span<std::uint8_t>;

constexpr double longest_mean_run = 1024;  // Pages; Markov.
constexpr double cuts_most = 64;
constexpr double tail_exponent = 0.8;  // Power law: P(run > x) = x^-0.8, so the mean is infinite.

double fraction(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::uint8_t coin(Random& random, double odds) { return fraction(random) < odds ? 1 : 0; }

void fill_pages(Random& random, Pages pages, double odds) {
  for (std::uint8_t& page : pages) page = coin(random, odds);
}

void uniform(Random& random, Pages pages) { fill_pages(random, pages, fraction(random)); }

void half(Random& random, Pages pages) { fill_pages(random, pages, 0.5); }

void markov(Random& random, Pages pages) {
  const double cached = std::pow(longest_mean_run, fraction(random));
  const double absent = std::pow(longest_mean_run, fraction(random));
  std::uint8_t state = coin(random, cached / (cached + absent));
  for (std::uint8_t& page : pages) {
    page = state;
    state ^= coin(random, 1 / (state != 0 ? cached : absent));
  }
}

void few_cuts(Random& random, Pages pages) {
  std::fill(pages.begin(), pages.end(), std::uint8_t{0});
  const auto size = static_cast<double>(pages.size());
  // A cut inverts the pages behind it: the cuts are marked first, then applied.
  for (auto left = static_cast<int>(1 + fraction(random) * cuts_most); left > 0; --left) {
    pages[static_cast<std::size_t>(fraction(random) * size)] ^= 1;
  }
  std::uint8_t state = coin(random, 0.5);
  for (std::uint8_t& page : pages) page = state ^= page;
}

void extents(Random& random, Pages pages, std::size_t extent) {
  const double odds = fraction(random);
  for (std::size_t at = 0; at < pages.size(); at += extent) {
    const Pages piece = pages.subspan(at, std::min(extent, pages.size() - at));
    std::fill(piece.begin(), piece.end(), coin(random, odds));
  }
}

void extents_128k(Random& random, Pages pages) { extents(random, pages, 32); }

void extents_512k(Random& random, Pages pages) { extents(random, pages, 128); }

void power_law(Random& random, Pages pages) {
  std::uint8_t state = coin(random, 0.5);
  while (!pages.empty()) {
    const double run = std::pow(1 - fraction(random), -1 / tail_exponent);
    const auto count = static_cast<std::size_t>(std::min(run, static_cast<double>(pages.size())));
    std::fill_n(pages.begin(), count, state);
    pages = pages.subspan(count);
    state ^= 1;
  }
}

void alternate(Random& random, Pages pages) {
  std::uint8_t state = coin(random, 0.5);
  for (std::uint8_t& page : pages) page = state ^= 1;
}

constexpr Pattern all[] = {
    {"uniform", "each page by one probability, which is uniform", uniform},
    {"half", "each page by a coin", half},
    {"markov", "runs of geometric lengths, means of 1 to 1024 pages", markov},
    {"few_cuts", "1 to 64 turns anywhere", few_cuts},
    {"extents_128k", "32 pages at a time", extents_128k},
    {"extents_512k", "128 pages at a time", extents_512k},
    {"power_law", "runs above x pages with probability x^-0.8", power_law},
    {"alternate", "every other page", alternate},
};

}  // namespace

std::span<const Pattern> patterns() { return all; }

}  // namespace k2k::labs::routing
