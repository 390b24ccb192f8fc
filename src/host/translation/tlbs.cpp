#include "host/translation/tlbs.hpp"

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace k2k::host {

namespace {

constexpr std::uint32_t subleaves_max = 64;  // Of leaf 18h.

constexpr std::uint32_t first_extended = 0x8000'0000;

std::uint32_t bits(std::uint32_t word, std::uint32_t first, std::uint32_t count) {
  return word >> first & ((std::uint32_t{1} << count) - 1);
}

// Answers of leaves that the CPU does not have are zeros: Intel's would repeat another leaf.
class Leaves {
 public:
  explicit Leaves(const Cpuid& cpuid)
      : cpuid_(cpuid), basic_(cpuid(0, 0)), extended_max_(cpuid(first_extended, 0).eax) {}

  [[nodiscard]] CpuidWords at(std::uint32_t leaf, std::uint32_t subleaf = 0) const {
    return leaf <= (leaf < first_extended ? basic_.eax : extended_max_) ? cpuid_(leaf, subleaf)
                                                                        : CpuidWords{};
  }
  [[nodiscard]] std::string vendor() const {
    const std::uint32_t words[] = {basic_.ebx, basic_.edx, basic_.ecx};
    std::string name(sizeof(words), '\0');
    std::memcpy(name.data(), words, sizeof(words));
    return name;
  }
  [[nodiscard]] std::uint32_t family() const {
    const std::uint32_t word = at(1).eax;
    const std::uint32_t base = bits(word, 8, 4);
    return base == 15 ? base + bits(word, 20, 8) : base;
  }
  [[nodiscard]] bool under_hypervisor() const { return bits(at(1).ecx, 31, 1) != 0; }
  [[nodiscard]] bool has_huge_pages() const { return bits(at(0x8000'0001).edx, 26, 1) != 0; }

 private:
  const Cpuid& cpuid_;
  const CpuidWords basic_;
  const std::uint32_t extended_max_;
};

// --- Intel.

// A descriptor of leaf 2; two entries of one byte are two TLBs.
struct Descriptor {
  std::uint8_t byte;
  Tlb tlb;
};
constexpr std::uint32_t large = pages_2m | pages_4m;
constexpr Descriptor descriptors[] = {
    {0x01, {1, TlbUse::instructions, pages_4k, 32, 4}},
    {0x02, {1, TlbUse::instructions, pages_4m, 2, 2}},
    {0x03, {1, TlbUse::data, pages_4k, 64, 4}},
    {0x04, {1, TlbUse::data, pages_4m, 8, 4}},
    {0x05, {1, TlbUse::data, pages_4m, 32, 4}},
    {0x0b, {1, TlbUse::instructions, pages_4m, 4, 4}},
    {0x4f, {1, TlbUse::instructions, pages_4k, 32, 32}},
    {0x50, {1, TlbUse::instructions, pages_4k | large, 64, 64}},
    {0x51, {1, TlbUse::instructions, pages_4k | large, 128, 128}},
    {0x52, {1, TlbUse::instructions, pages_4k | large, 256, 256}},
    {0x55, {1, TlbUse::instructions, large, 7, 7}},
    {0x56, {1, TlbUse::data, pages_4m, 16, 4}},
    {0x57, {1, TlbUse::data, pages_4k, 16, 4}},
    {0x59, {1, TlbUse::data, pages_4k, 16, 16}},
    {0x5a, {1, TlbUse::data, large, 32, 4}},
    {0x5b, {1, TlbUse::data, pages_4k | pages_4m, 64, 64}},
    {0x5c, {1, TlbUse::data, pages_4k | pages_4m, 128, 128}},
    {0x5d, {1, TlbUse::data, pages_4k | pages_4m, 256, 256}},
    {0x61, {1, TlbUse::instructions, pages_4k, 48, 48}},
    {0x63, {1, TlbUse::data, large, 32, 4}},
    {0x63, {1, TlbUse::data, pages_1g, 4, 4}},
    {0x64, {1, TlbUse::data, pages_4k, 512, 4}},
    {0x6a, {1, TlbUse::data, pages_4k, 64, 8}},
    {0x6b, {1, TlbUse::data, pages_4k, 256, 8}},
    {0x6c, {1, TlbUse::data, large, 128, 8}},
    {0x6d, {1, TlbUse::data, pages_1g, 16, 16}},
    {0x76, {1, TlbUse::instructions, large, 8, 8}},
    {0xa0, {1, TlbUse::data, pages_4k, 32, 32}},
    {0xb0, {1, TlbUse::instructions, pages_4k, 128, 4}},
    {0xb1, {1, TlbUse::instructions, pages_2m, 8, 4}},
    {0xb2, {1, TlbUse::instructions, pages_4k, 64, 4}},
    {0xb3, {1, TlbUse::data, pages_4k, 128, 4}},
    {0xb4, {1, TlbUse::data, pages_4k, 256, 4}},
    {0xb5, {1, TlbUse::instructions, pages_4k, 64, 8}},
    {0xb6, {1, TlbUse::instructions, pages_4k, 128, 8}},
    {0xba, {1, TlbUse::data, pages_4k, 64, 4}},
    {0xc0, {1, TlbUse::data, pages_4k | pages_4m, 8, 4}},
    {0xc1, {2, TlbUse::shared, pages_4k | pages_2m, 1024, 8}},
    {0xc2, {1, TlbUse::data, pages_4k | pages_2m, 16, 4}},
    {0xc3, {2, TlbUse::shared, pages_4k | pages_2m, 1536, 6}},
    {0xc3, {2, TlbUse::shared, pages_1g, 16, 4}},
    {0xc4, {1, TlbUse::data, large, 32, 4}},
    {0xca, {2, TlbUse::shared, pages_4k, 512, 4}},
};

std::vector<Tlb> tlbs_of_descriptors(const Leaves& leaves) {
  const CpuidWords words = leaves.at(2);
  std::vector<Tlb> all;
  bool first = true;  // The lowest byte is no descriptor.
  for (const std::uint32_t word : {words.eax, words.ebx, words.ecx, words.edx}) {
    for (std::uint32_t place = 0; place < 32; place += 8) {
      if (std::exchange(first, false) || bits(word, 31, 1) != 0) continue;
      for (const Descriptor& each : descriptors) {
        if (each.byte == bits(word, place, 8)) all.push_back(each.tlb);
      }
    }
  }
  return all;
}

std::vector<Tlb> tlbs_of_parameters(const Leaves& leaves) {
  constexpr std::array uses = {TlbUse::data, TlbUse::instructions, TlbUse::shared, TlbUse::loads,
                               TlbUse::stores};  // From type 1 on; 0: no TLB here.
  const std::uint32_t last = std::min(leaves.at(0x18).eax, subleaves_max - 1);
  std::vector<Tlb> all;
  for (std::uint32_t subleaf = 0; subleaf <= last; ++subleaf) {
    const CpuidWords words = leaves.at(0x18, subleaf);
    const std::uint32_t type = bits(words.edx, 0, 5);
    if (type == 0 || type > uses.size()) continue;
    const std::uint32_t ways = bits(words.ebx, 16, 16);
    all.push_back({bits(words.edx, 5, 3), uses[type - 1], bits(words.ebx, 0, 4),
                   std::uint64_t{ways} * words.ecx, ways});
  }
  return all;
}

void add_intel(const Leaves& leaves, Tlbs& seen) {
  seen.all = tlbs_of_parameters(leaves);
  seen.source = "CPUID 18h";
  if (!seen.all.empty()) return;
  seen.all = tlbs_of_descriptors(leaves);
  seen.source = "CPUID 2h";
}

// --- AMD.

// Codes of level 2 and of pages of 1 GiB. 0: there is no TLB; 15: fully associative; 7 and 9 are
// no TLB's.
constexpr std::uint32_t amd_ways[16] = {0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, 0};

// `word` has the instructions' TLB in its low half, the data's in its high half.
void add_first_level(std::uint32_t word, std::uint32_t pages, std::vector<Tlb>& all) {
  for (const bool data : {true, false}) {
    const std::uint32_t half = bits(word, data ? 16 : 0, 16);
    const std::uint32_t entries = bits(half, 0, 8);
    const std::uint32_t ways = half >> 8;
    if (ways == 0) continue;
    all.push_back({1, data ? TlbUse::data : TlbUse::instructions, pages, entries,
                   ways == 255 ? entries : ways});
  }
}

void add_coded(std::uint32_t word, std::uint32_t level, std::uint32_t pages, std::uint32_t unit,
               std::vector<Tlb>& all) {
  for (const bool data : {true, false}) {
    const std::uint32_t half = bits(word, data ? 16 : 0, 16);
    const std::uint32_t code = half >> 12;
    if (code == 0) continue;
    // A single TLB for both is that of the low half.
    const bool shared = !data && word >> 16 == 0;
    const std::uint32_t entries = bits(half, 0, 12) * unit;
    all.push_back({level,
                   data     ? TlbUse::data
                   : shared ? TlbUse::shared
                            : TlbUse::instructions,
                   pages, entries, code == 15 ? entries : amd_ways[code]});
  }
}

void add_amd(const Leaves& leaves, Tlbs& seen) {
  constexpr std::uint32_t first_in_32s = 0x1a;  // Family.
  const CpuidWords one = leaves.at(0x8000'0005);
  const CpuidWords two = leaves.at(0x8000'0006);
  const CpuidWords huge = leaves.at(0x8000'0019);
  const bool in_32s = bits(leaves.at(0x8000'0021).eax, 14, 1) != 0;
  const std::uint32_t unit = in_32s ? 32 : 1;
  add_first_level(one.ebx, pages_4k, seen.all);
  add_first_level(one.eax, pages_2m, seen.all);
  add_coded(huge.eax, 1, pages_1g, 1, seen.all);
  add_coded(two.ebx, 2, pages_4k, unit, seen.all);
  add_coded(two.eax, 2, pages_2m, unit, seen.all);
  add_coded(huge.ebx, 2, pages_1g, unit, seen.all);
  seen.source = "CPUID 8000_0005h, 8000_0006h, 8000_0019h";
  const bool has_second =
      std::any_of(seen.all.begin(), seen.all.end(), [](const Tlb& tlb) { return tlb.level == 2; });
  if (has_second && !in_32s && leaves.family() >= first_in_32s && leaves.under_hypervisor()) {
    seen.note =
        "level 2 may have 32 times the entries: CPUs of this family count them in 32s, and the "
        "hypervisor hides the bit that says so; 'k2k lab translation' measures the reach";
  }
}

}  // namespace

Tlbs tlbs_of(const Cpuid& cpuid) {
  const Leaves leaves(cpuid);
  Tlbs seen;
  if (leaves.vendor() == "AuthenticAMD" || leaves.vendor() == "HygonGenuine") {
    add_amd(leaves, seen);
  } else {
    add_intel(leaves, seen);
  }
  std::erase_if(seen.all, [](const Tlb& tlb) {
    return tlb.level == 0 || tlb.entries == 0 || tlb.pages == 0;
  });
  std::stable_sort(seen.all.begin(), seen.all.end(),
                   [](const Tlb& left, const Tlb& right) { return left.level < right.level; });
  std::uint32_t reported = 0;
  for (const Tlb& tlb : seen.all) reported |= tlb.pages;
  seen.not_reported = (pages_4k | pages_2m | (leaves.has_huge_pages() ? pages_1g : 0)) & ~reported;
  if (seen.all.empty()) seen.source.clear();
  return seen;
}

Tlbs tlbs_here() {
  return tlbs_of([](std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidWords words;
    __cpuid_count(leaf, subleaf, words.eax, words.ebx, words.ecx, words.edx);
    return words;
  });
}

const char* name_of(TlbUse use) {
  switch (use) {
    case TlbUse::data:
      return "data";
    case TlbUse::instructions:
      return "instructions";
    case TlbUse::shared:
      return "shared";
    case TlbUse::loads:
      return "loads";
    case TlbUse::stores:
      return "stores";
  }
  return "";
}

std::vector<std::string> names_of_pages(std::uint32_t pages) {
  std::vector<std::string> names;
  const std::pair<std::uint32_t, const char*> sizes[] = {
      {pages_4k, "4 KiB"}, {pages_2m, "2 MiB"}, {pages_4m, "4 MiB"}, {pages_1g, "1 GiB"}};
  for (const auto& [bit, name] : sizes) {
    if ((pages & bit) != 0) names.emplace_back(name);
  }
  return names;
}

}  // namespace k2k::host
