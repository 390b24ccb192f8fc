#pragma once
// The kernel of the B+tree: each work-item searches keys. Threads of the host run the same code.
//
// Threading: device code and host code; a part (first, step) may run beside the others. C++17.

#include <cstdint>

#include "apps/bpt/node.hpp"
#include "apps/common/check_words.hpp"
#include "apps/common/lookup_totals.hpp"
#include "device/k2k.hpp"

namespace k2k::bpt {

K2K_HD inline std::uint64_t bits_of(std::uint64_t key, std::uint64_t value) {
  const std::uint64_t words[] = {key, value};
  return apps::check_of_words(words, 2);
}

struct Search {
  Tree tree;
  const std::uint64_t* wanted = nullptr;  // Keys.
  std::uint64_t* found = nullptr;         // Their values, or absent.
  std::uint64_t lookups = 0;
  std::uint32_t turn = 1;                // Neighbouring keys that an item takes at a time.
  apps::LookupTotals* totals = nullptr;  // nullptr: not wanted.

  K2K_HD void run(std::uint64_t first, std::uint64_t step) const {
    apps::LookupTotals part;
    apps::for_my_lookups(lookups, turn, first, step, [&](std::uint64_t lookup) {
      const std::uint64_t key = wanted[lookup];
      const Found one = find(tree, key);
      found[lookup] = one.value;
      if (totals == nullptr) return;
      part.found += one.value != absent ? 1 : 0;
      part.bits += bits_of(key, one.value);
      if (one.wrong == Wrong::nothing) return;
      const std::uint64_t at = apps::wrong_at(one.node, static_cast<std::uint8_t>(one.wrong));
      if (at < part.wrong) part.wrong = at;
    });
    if (totals != nullptr) apps::add_totals(*totals, part);
  }

  K2K_DEVICE void operator()() const { run(k2k::global_rank(), k2k::global_size()); }
};

}  // namespace k2k::bpt
