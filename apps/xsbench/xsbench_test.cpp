// Goal: a lookup has the bits of a search in each nuclide's own grid; one file has the same bits by
// kernel and threads, in every mode, order and shape, and few lookups bring few pages; a wrong
// file, material, sample or index, and a file that becomes shorter, is one line.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "apps/common/lookup_fixture.hpp"
#include "apps/xsbench/run.hpp"

namespace k2k::xsbench {
namespace {

using apps::anew;
using apps::By;
using apps::LookupOutcome;
using apps::LookupSettings;
using apps::Mode;
using apps::small_device;
using apps::ways;

class Xsbench : public apps::LookupTest<Recipe, TableFile, generate, open_tables, look_all_up> {
 protected:
  // A file of these materials and this header.
  template <class Change>
  std::string changed(const Recipe& recipe, const Change& change) {
    const std::string name = made(recipe);
    Header header = open(name).header;
    header.check = header.material_check = 0;
    Tables tables = tables_of(recipe.nuclides, recipe.grid_points, recipe.seed);
    change(header, tables);
    const std::vector<std::byte> head = head_of(header, tables);
    std::fstream(name, std::ios::in | std::ios::out | std::ios::binary)
        .write(reinterpret_cast<const char*>(head.data()),
               static_cast<std::streamsize>(head.size()));
    return name;
  }
};

TEST(Tables, have_each_nuclides_points_around_an_energy) {
  const Tables tables = tables_of(5, 40, 3);
  ASSERT_EQ(tables.energies.size(), 200u);
  EXPECT_TRUE(std::is_sorted(tables.energies.begin(), tables.energies.end()));
  ASSERT_EQ(tables.materials.size(), material_count);
  EXPECT_EQ(tables.materials[0].end, 2u) << "fuel has half of the nuclides";
  for (std::size_t place = 0; place < 200; ++place) {
    for (std::uint32_t nuclide = 0; nuclide < 5; ++nuclide) {
      const std::uint32_t index = tables.indices[place * 5 + nuclide];
      ASSERT_LT(index, 39u);
      const Point* const low = tables.grid_of(nuclide) + index;
      EXPECT_TRUE(index == 0 || low[0].energy <= tables.energies[place]);
      EXPECT_TRUE(index == 38 || low[1].energy > tables.energies[place]);
    }
  }
}

TEST(Tables, are_interpolated_linearly) {
  const Point low{0.25, {0, 1, 2, 3, 4}};
  const Point high{0.75, {1, 1, 4, 0, 4}};
  double macroscopic[channel_count] = {1, 0, 0, 0, 0};
  add_nuclide(low, high, 0.5, 2, macroscopic);
  EXPECT_DOUBLE_EQ(macroscopic[0], 2);
  EXPECT_DOUBLE_EQ(macroscopic[1], 2);
  EXPECT_DOUBLE_EQ(macroscopic[2], 6);
  EXPECT_DOUBLE_EQ(macroscopic[3], 3);
  EXPECT_DOUBLE_EQ(macroscopic[4], 8);
  const Answer answer = answer_of(macroscopic);
  EXPECT_DOUBLE_EQ(answer.sum, 21);
  EXPECT_EQ(answer.largest, 4u);
}

TEST_F(Xsbench, has_the_generators_answers_in_each_way_mode_order_and_shape) {
  // The smallest tables; fewer lookups than work-items, and more.
  for (const Recipe& recipe :
       {Recipe{2, 2, 5, 1}, Recipe{16, 64, 700, 2}, Recipe{30, 100, 3'000, 3}}) {
    const std::string unsorted = made(recipe);
    const std::string sorted = made(recipe, "sorted");
    const LookupOutcome right = run(unsorted, {});
    EXPECT_EQ(right.totals.bits, open(unsorted).header.bits);
    EXPECT_NE(right.totals.bits, 0u);
    for (const std::string& name : {unsorted, sorted}) {
      for (const Mode mode : apps::modes_here()) {
        for (const By by : {By::kernel, By::threads}) {
          for (const auto& [groups, items] : {std::pair{0u, 0u}, {1u, 1u}, {3u, 7u}, {40u, 64u}}) {
            const LookupOutcome outcome =
                run(name, {.by = by, .mode = mode, .groups = groups, .items = items, .threads = 3});
            EXPECT_EQ(outcome.totals.bits, right.totals.bits);
          }
        }
      }
    }
  }
}

TEST_F(Xsbench, brings_only_the_pages_that_it_touches) {
  const Recipe recipe{60, 200, 4, 1};
  const std::string name = made(recipe);
  const LookupOutcome few = run(name, {});
  EXPECT_GT(few.pages, 8u);
  EXPECT_LT(few.pages, open(name).bytes / page_bytes / 2);
  EXPECT_GE(few.requests, 1u);
  EXPECT_LE(few.kernel_seconds, few.seconds);
  const LookupOutcome pinned = run(name, {.mode = Mode::pinned});
  EXPECT_EQ(pinned.pages + pinned.requests, 0u);
  ASSERT_EQ(pinned.resident.size(), 3u) << "before, loaded, after";
  EXPECT_GT(pinned.resident[1].own(), pinned.resident[0].own());
}

TEST_F(Xsbench, uses_huge_pages_where_linux_has_them) {
  if (apps::modes_here().size() < 3) GTEST_SKIP() << "Linux gives no huge pages here";
  for (const By by : {By::kernel, By::threads}) {
    const LookupOutcome outcome = run(made({16, 64, 100, 1}), {.by = by, .mode = Mode::huge});
    EXPECT_EQ(outcome.huge_bytes, std::uint64_t{2} << 20);
  }
}

TEST_F(Xsbench, is_generated_in_both_orders) {
  const Recipe recipe{4, 10, 100, 8};
  const auto samples_in = [](const std::string& name) {
    const TableFile file = open(name);
    std::vector<Sample> samples(file.header.lookups);
    EXPECT_TRUE(apps::read_at(file, samples.data(), samples.size() * sizeof(Sample),
                              file.offset + Layout(file.header).samples));
    std::vector<double> energies;
    for (const Sample& sample : samples) energies.push_back(sample.energy);
    return energies;
  };
  const std::string unsorted = made(recipe);
  const std::string sorted = made(recipe, "sorted");
  EXPECT_EQ(open(unsorted).header.sorted, 0u);
  EXPECT_EQ(open(sorted).header.sorted, 1u);
  EXPECT_EQ(open(sorted).header.seed, 8u);
  std::vector<double> energies = samples_in(unsorted);
  EXPECT_FALSE(std::is_sorted(energies.begin(), energies.end()));
  std::sort(energies.begin(), energies.end());
  EXPECT_EQ(energies, samples_in(sorted));
  const std::string folder = sorted.substr(0, sorted.rfind('/'));
  EXPECT_EQ(
      generate(folder, {}).error().message,
      folder +
          ": File exists; name a path that does not exist, in a folder that may be written to");
}

TEST_F(Xsbench, refuses_what_is_no_file_of_cross_sections) {
  EXPECT_EQ(open_failure(path("nowhere")),
            "No such file or directory; name a file that --generate made");
  EXPECT_EQ(open_failure(path("")), "not a regular file; name a file that --generate made");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(open_failure(path("pipe")), "not a regular file; name a file that --generate made");
  std::ofstream(path("short")) << "K2KXSB\n";
  EXPECT_EQ(open_failure(path("short")),
            std::string("the file has 7 bytes, fewer than its header's 4096") + anew);
  std::ofstream(path("text")) << std::string(5000, 'x');
  EXPECT_EQ(open_failure(path("text")),
            "no file of cross-sections, which begins with K2KXSB; make one with --generate");
}

TEST_F(Xsbench, refuses_a_wrong_header_or_size) {
  const Recipe recipe{4, 10, 20, 1};
  const std::uint32_t entries = open(made(recipe)).header.entries;
  const auto told = [&](const auto& change) {
    return open_failure(changed(recipe, [&](Header& header, Tables&) { change(header); }));
  };
  EXPECT_EQ(told([](Header&) {}), "no error");
  EXPECT_EQ(told([](Header& header) { header.version = 3; }),
            std::string("version 3 of the format with 48 bytes a point, but this program reads "
                        "version 1 with 48") +
                anew);
  EXPECT_EQ(told([](Header& header) { header.point_bytes = 40; }),
            std::string("version 1 of the format with 40 bytes a point, but this program reads "
                        "version 1 with 48") +
                anew);
  EXPECT_EQ(told([](Header& header) { header.check = 3; }),
            std::string("the header is damaged: its check does not fit") + anew);
  EXPECT_EQ(told([](Header& header) { header.material_check = 3; }),
            std::string("the materials are damaged: their check does not fit") + anew);
  const auto sizes = [&](const char* nuclides, const char* points, const char* lookups) {
    return std::string(nuclides) + " nuclides of " + points + " points, " +
           std::to_string(entries) + " entries of materials and " + lookups +
           " lookups; permitted are 2 to 1024, 2 to 100000, 12 for each nuclide, and 1 to "
           "1000000000" +
           anew;
  };
  EXPECT_EQ(told([](Header& header) { header.nuclides = 1; }), sizes("1", "10", "20"));
  EXPECT_EQ(told([](Header& header) { header.nuclides = 1'025; }), sizes("1025", "10", "20"));
  EXPECT_EQ(told([](Header& header) { header.grid_points = 1; }), sizes("4", "1", "20"));
  EXPECT_EQ(told([](Header& header) { header.grid_points = 100'001; }), sizes("4", "100001", "20"));
  EXPECT_EQ(told([](Header& header) { header.lookups = 0; }), sizes("4", "10", "0"));
  EXPECT_EQ(told([](Header& header) { header.lookups = lookups_most + 1; }),
            sizes("4", "10", "1000000001"));
  const std::string name = made(recipe);
  put(name, offsetof(Header, seed), std::uint64_t{99});
  EXPECT_EQ(open_failure(name),
            std::string("the header is damaged: its check does not fit") + anew);
  const std::string whole_name = made(recipe);
  const auto whole = std::filesystem::file_size(whole_name);
  for (const auto bytes : {whole - 1, whole + 1, std::uintmax_t{4096}}) {
    std::filesystem::resize_file(whole_name, bytes);
    EXPECT_EQ(open_failure(whole_name),
              "the file has " + std::to_string(bytes) + " bytes, but 4 nuclides of 10 points, " +
                  std::to_string(entries) + " entries of materials and 20 lookups take " +
                  std::to_string(whole) + anew);
  }
}

TEST_F(Xsbench, has_no_more_entries_than_materials_and_nuclides) {
  const Recipe recipe{4, 10, 20, 1};
  const std::string name = made(recipe);
  const Tables tables = tables_of(4, 10, 1);
  Header header = open(name).header;
  header.check = 0;
  header.entries = 12 * 4 + 1;
  Tables longer = tables;
  longer.material_nuclides.resize(header.entries);
  longer.concentrations.resize(header.entries);
  Header written;
  std::memcpy(&written, head_of(header, longer).data(), sizeof(written));
  put(name, 0, written);
  EXPECT_EQ(open_failure(name).rfind("4 nuclides of 10 points, 49 entries of materials and ", 0),
            0u);
}

TEST_F(Xsbench, tells_a_material_that_is_wrong) {
  const Recipe recipe{4, 10, 20, 1};
  const std::string entries = std::to_string(open(made(recipe)).header.entries);
  const auto told = [&](const auto& change) {
    return open_failure(changed(recipe, [&](Header&, Tables& tables) { change(tables); }));
  };
  EXPECT_EQ(told([](Tables& tables) { tables.materials[5] = {3, 2}; }),
            "material 5 has the entries 3 to 2, of " + entries + anew);
  EXPECT_EQ(
      told([](Tables& tables) { tables.materials[11].end = 1'000; }).rfind("material 11 has ", 0),
      0u);
  EXPECT_EQ(told([](Tables& tables) { tables.material_nuclides[7] = 4; }),
            std::string("entry 7 of the materials is nuclide 4, but the last one is 3") + anew);
  EXPECT_EQ(told([](Tables& tables) { tables.concentrations[2] = std::nan(""); }),
            std::string("entry 2 of the materials has the concentration nan") + anew);
}

TEST_F(Xsbench, tells_a_sample_or_an_index_that_is_wrong) {
  const Recipe recipe{4, 10, 20, 1};
  const TableFile file = open(made(recipe));
  const Layout at(file.header);
  const auto told = [&](std::uint64_t place, const auto& value) {
    const std::string name = made(recipe);
    put(name, at.head + place, value);
    return failure_of(name);
  };
  for (const double energy : {-0.5, 1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(told(at.samples + 9 * sizeof(Sample), energy),
              std::string("lookup 9 has an energy that is not in 0 to 1") + anew);
  }
  EXPECT_EQ(told(at.samples + 7 * sizeof(Sample) + offsetof(Sample, material), std::uint32_t{12}),
            std::string("lookup 7 has a material beyond the 12") + anew);
  // Each index of every energy is wrong, so some lookup meets one.
  const std::string name = made(recipe);
  for (std::uint64_t place = 0; place < 40 * 4; ++place) {
    put(name, at.head + at.indices + place * 4, std::uint32_t{9});  // The last point has no next.
  }
  const std::string met = failure_of(name);
  EXPECT_EQ(met.rfind("energy ", 0), 0u) << met;
  EXPECT_NE(met.find(std::string(" has an index beyond the 10 points of a nuclide") + anew),
            std::string::npos)
      << met;
}

TEST_F(Xsbench, tells_answers_that_are_not_the_generators) {
  const Recipe recipe{4, 10, 500, 1};
  const std::string name = made(recipe);
  put(name, Layout(open(name).header).head + 5 * sizeof(Point) + offsetof(Point, xs), 0.125);
  const std::string told = failure_of(name);
  EXPECT_EQ(told.rfind("the answers are not those of the generator: 500 found with the bits ", 0),
            0u)
      << told;
}

TEST_F(Xsbench, tells_a_file_that_becomes_shorter_while_it_is_in_use) {
  for (const std::uint64_t lost : {std::uint64_t{1}, std::uint64_t{9'000}}) {
    for (const LookupSettings& way : ways) {
      const TableFile file = open(made({16, 64, 1'000, 1}));
      ASSERT_EQ(::truncate(file.path.c_str(), static_cast<long>(file.size - lost)), 0);
      if (way.by == By::threads && way.mode == Mode::demand && lost > page_bytes) {
        const apps::Ended ended =
            apps::in_child([&] { return look_all_up(file, way, small_device()) ? 0 : 2; });
        EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 1) << ended.status;
        EXPECT_EQ(ended.said, "k2k-xsbench: " + file.path +
                                  ": the file became shorter while it was mapped: a page of it is "
                                  "gone" +
                                  anew + "\n");
      } else {
        EXPECT_EQ(failure(file, way), "the file became shorter while it was in use: " +
                                          std::to_string(file.size - lost) + " of " +
                                          std::to_string(file.size) + " bytes" + anew);
      }
    }
  }
}

}  // namespace
}  // namespace k2k::xsbench
