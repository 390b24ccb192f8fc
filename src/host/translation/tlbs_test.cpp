// Goal: the TLBs that CPUID reports are read as the manuals of Intel and AMD say, and wrong or
// hidden answers give no TLB. Method: answers of CPUs, as fixtures; the numbers are those of the
// CPUs' published data sheets.

#include "host/translation/tlbs.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace k2k::host {
namespace {

using Answers = std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidWords>;

Tlbs seen(const Answers& answers) {
  return tlbs_of([&](std::uint32_t leaf, std::uint32_t subleaf) {
    const auto found = answers.find({leaf, subleaf});
    return found == answers.end() ? CpuidWords() : found->second;
  });
}

constexpr CpuidWords intel(std::uint32_t last_leaf) {
  return {last_leaf, 0x756e6547, 0x6c65746e, 0x49656e69};
}
constexpr CpuidWords amd(std::uint32_t last_leaf) {
  return {last_leaf, 0x68747541, 0x444d4163, 0x69746e65};
}
constexpr CpuidWords extended{0x80000021, 0, 0, 0};
constexpr CpuidWords with_1g_pages{0, 0, 0, 1u << 26};

TEST(Tlbs, of_intel_s_leaf_18h) {
  // Ice Lake: ITLB 128 x 4 KiB (8 ways), ITLB 16 x 2 MiB (full), loads 64 x 4 KiB (4 ways), stores
  // 16 (full), 1024 shared of 4 KiB and 2 MiB, 1024 of 4 KiB and 1 GiB. Subleaf 3 is none.
  const Tlbs tlbs = seen({{{0, 0}, intel(0x1b)},
                          {{0x80000000, 0}, extended},
                          {{0x80000001, 0}, with_1g_pages},
                          {{0x18, 0}, {6, 0x00080001, 16, 0x00004022}},
                          {{0x18, 1}, {0, 0x00100006, 1, 0x00004122}},
                          {{0x18, 2}, {0, 0x00040001, 16, 0x00004024}},
                          {{0x18, 3}, {0, 0, 0, 0}},
                          {{0x18, 4}, {0, 0x0010000f, 1, 0x00004125}},
                          {{0x18, 5}, {0, 0x00080003, 128, 0x00004043}},
                          {{0x18, 6}, {0, 0x00080009, 128, 0x00004043}}});
  EXPECT_EQ(tlbs.source, "CPUID 18h");
  EXPECT_EQ(tlbs.note, "");
  EXPECT_EQ(tlbs.not_reported, 0u);
  const std::vector<Tlb> expected = {
      {1, TlbUse::instructions, pages_4k, 128, 8},
      {1, TlbUse::instructions, pages_2m | pages_4m, 16, 16},
      {1, TlbUse::loads, pages_4k, 64, 4},
      {1, TlbUse::stores, pages_4k | pages_2m | pages_4m | pages_1g, 16, 16},
      {2, TlbUse::shared, pages_4k | pages_2m, 1024, 8},
      {2, TlbUse::shared, pages_4k | pages_1g, 1024, 8}};
  EXPECT_EQ(tlbs.all, expected);
}

TEST(Tlbs, of_intel_s_leaf_2_where_leaf_18h_is_missing) {
  // Skylake: 63h 03h 76h B6h FFh C3h. The lowest byte of EAX counts calls, and EDX is no list.
  const Tlbs tlbs =
      seen({{{0, 0}, intel(0x16)}, {{2, 0}, {0x76036301, 0x00f0b6ff, 0x00c30000, 0x80a0a0a0}}});
  EXPECT_EQ(tlbs.source, "CPUID 2h");
  const std::vector<Tlb> expected = {{1, TlbUse::data, pages_2m | pages_4m, 32, 4},
                                     {1, TlbUse::data, pages_1g, 4, 4},
                                     {1, TlbUse::data, pages_4k, 64, 4},
                                     {1, TlbUse::instructions, pages_2m | pages_4m, 8, 8},
                                     {1, TlbUse::instructions, pages_4k, 128, 8},
                                     {2, TlbUse::shared, pages_4k | pages_2m, 1536, 6},
                                     {2, TlbUse::shared, pages_1g, 16, 4}};
  EXPECT_EQ(tlbs.all, expected);
  EXPECT_EQ(tlbs.not_reported, 0u);
}

TEST(Tlbs, of_leaf_2_begin_behind_the_count_of_calls) {
  // 03h as the count of calls is no TLB.
  EXPECT_TRUE(seen({{{0, 0}, intel(2)}, {{2, 0}, {0x00000003, 0, 0, 0}}}).all.empty());
}

TEST(Tlbs, of_amd_s_zen_3) {
  const Tlbs tlbs = seen({{{0, 0}, amd(0x10)},
                          {{1, 0}, {0x00a20f10, 0, 0, 0}},
                          {{0x80000000, 0}, extended},
                          {{0x80000001, 0}, with_1g_pages},
                          {{0x80000005, 0}, {0xff40ff40, 0xff40ff40, 0, 0}},
                          {{0x80000006, 0}, {0x58006200, 0x68006200, 0, 0}},
                          {{0x80000019, 0}, {0xf040f040, 0xf0400000, 0, 0}}});
  EXPECT_EQ(tlbs.source, "CPUID 8000_0005h, 8000_0006h, 8000_0019h");
  EXPECT_EQ(tlbs.note, "");
  EXPECT_EQ(tlbs.not_reported, 0u);
  const std::vector<Tlb> expected = {
      {1, TlbUse::data, pages_4k, 64, 64},  {1, TlbUse::instructions, pages_4k, 64, 64},
      {1, TlbUse::data, pages_2m, 64, 64},  {1, TlbUse::instructions, pages_2m, 64, 64},
      {1, TlbUse::data, pages_1g, 64, 64},  {1, TlbUse::instructions, pages_1g, 64, 64},
      {2, TlbUse::data, pages_4k, 2048, 8}, {2, TlbUse::instructions, pages_4k, 512, 8},
      {2, TlbUse::data, pages_2m, 2048, 6}, {2, TlbUse::instructions, pages_2m, 512, 8},
      {2, TlbUse::data, pages_1g, 64, 64}};
  EXPECT_EQ(tlbs.all, expected);
}

// Zen 5, whose level 2 is counted in 32s: with the bit that says so, and behind a hypervisor that
// hides it (a guest's answers).
Answers zen_5(std::uint32_t features) {
  return {{{0, 0}, amd(0x1c)},
          {{1, 0}, {0x00b20f21, 0, 1u << 31, 0}},
          {{0x80000000, 0}, extended},
          {{0x80000001, 0}, with_1g_pages},
          {{0x80000005, 0}, {0xff60ff40, 0xff60ff40, 0, 0}},
          {{0x80000006, 0}, {0x40802040, 0x60804040, 0, 0}},
          {{0x80000021, 0}, {features, 0, 0, 0}}};
}

TEST(Tlbs, of_zen_5_are_counted_in_32s) {
  const Tlbs tlbs = seen(zen_5(1u << 14));
  const std::vector<Tlb> expected = {
      {1, TlbUse::data, pages_4k, 96, 96},  {1, TlbUse::instructions, pages_4k, 64, 64},
      {1, TlbUse::data, pages_2m, 96, 96},  {1, TlbUse::instructions, pages_2m, 64, 64},
      {2, TlbUse::data, pages_4k, 4096, 8}, {2, TlbUse::instructions, pages_4k, 2048, 4},
      {2, TlbUse::data, pages_2m, 4096, 4}, {2, TlbUse::instructions, pages_2m, 2048, 2}};
  EXPECT_EQ(tlbs.all, expected);
  EXPECT_EQ(tlbs.note, "");
  EXPECT_EQ(tlbs.not_reported, pages_1g);
}

TEST(Tlbs, whose_unit_a_hypervisor_hides_are_reported_with_a_note) {
  const Tlbs tlbs = seen(zen_5(0));
  ASSERT_EQ(tlbs.all.size(), 8u);
  EXPECT_EQ(tlbs.all[4], (Tlb{2, TlbUse::data, pages_4k, 128, 8}));
  EXPECT_EQ(tlbs.note,
            "level 2 may have 32 times the entries: CPUs of this family count them in 32s, and the "
            "hypervisor hides the bit that says so; 'k2k lab translation' measures the reach");
  Answers bare = zen_5(0);
  bare[{1, 0}].ecx = 0;
  EXPECT_EQ(seen(bare).note, "") << "without a hypervisor the bit is the CPU's own";
}

TEST(Tlbs, of_amd_that_serve_both_are_shared) {
  const Tlbs tlbs = seen(
      {{{0, 0}, amd(1)}, {{0x80000000, 0}, extended}, {{0x80000006, 0}, {0, 0x00004200, 0, 0}}});
  const std::vector<Tlb> expected = {{2, TlbUse::shared, pages_4k, 512, 4}};
  EXPECT_EQ(tlbs.all, expected);
  EXPECT_EQ(tlbs.not_reported, pages_2m);
}

TEST(Tlbs, that_a_hypervisor_hides_are_not_reported) {
  for (const CpuidWords& vendor : {intel(0x1b), amd(0x10), CpuidWords{0x10, 1, 2, 3}}) {
    const Tlbs tlbs = seen({{{0, 0}, vendor}, {{0x80000000, 0}, extended}});
    EXPECT_TRUE(tlbs.all.empty());
    EXPECT_EQ(tlbs.source, "");
    EXPECT_EQ(tlbs.not_reported, pages_4k | pages_2m);
  }
  EXPECT_TRUE(seen({}).all.empty());
}

// A CPU without a leaf answers with another leaf's words.
TEST(Tlbs, of_leaves_beyond_the_last_one_are_not_asked_for) {
  Answers old = zen_5(1u << 14);
  old[{0x80000000, 0}].eax = 0x80000008;
  EXPECT_EQ(seen(old).all[4].entries, 128u) << "8000_0021h is missing";
  old[{0x80000000, 0}].eax = 0x80000004;
  EXPECT_TRUE(seen(old).all.empty());
  EXPECT_TRUE(
      seen({{{0, 0}, intel(0x16)}, {{0x18, 0}, {0, 0x00080001, 16, 0x00004022}}}).all.empty());
}

TEST(Tlbs, of_any_words_have_levels_sizes_and_entries) {
  std::mt19937 random(1);
  for (int round = 0; round < 2'000; ++round) {
    const std::uint32_t vendor = random() % 2;
    const Tlbs tlbs = tlbs_of([&](std::uint32_t leaf, std::uint32_t) -> CpuidWords {
      if (leaf == 0) return vendor == 0 ? intel(0x1f) : amd(0x1f);
      return {static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random()),
              static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random())};
    });
    EXPECT_LE(tlbs.all.size(), 64u);
    for (const Tlb& tlb : tlbs.all) {
      EXPECT_GT(tlb.level, 0u);
      EXPECT_GT(tlb.entries, 0u);
      EXPECT_FALSE(names_of_pages(tlb.pages).empty());
      EXPECT_STRNE(name_of(tlb.use), "");
    }
  }
}

TEST(Tlbs, of_this_machine_can_be_asked_for) {
  const Tlbs tlbs = tlbs_here();
  EXPECT_EQ(tlbs.all.empty(), tlbs.source.empty());
}

TEST(Tlbs, have_names_of_page_sizes) {
  EXPECT_EQ(names_of_pages(pages_4k | pages_1g), (std::vector<std::string>{"4 KiB", "1 GiB"}));
  EXPECT_EQ(names_of_pages(0), std::vector<std::string>());
}

}  // namespace
}  // namespace k2k::host
