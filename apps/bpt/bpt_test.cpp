// Goal: a search finds the values of a binary search in the sorted keys, for trees of one to three
// levels; one file has the same bits by kernel and threads, in every mode, order and shape, and few
// searches bring few pages; a wrong file, node or value, and a file that becomes shorter, is one
// line.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "apps/bpt/run.hpp"
#include "apps/bpt/search.hpp"
#include "apps/bpt/tree.hpp"
#include "apps/common/lookup_fixture.hpp"

namespace k2k::bpt {
namespace {

using apps::anew;
using apps::By;
using apps::LookupOutcome;
using apps::LookupSettings;
using apps::Mode;
using apps::small_device;
using apps::ways;

class Bpt : public apps::LookupTest<Recipe, TreeFile, generate, open_tree, search_all> {
 protected:
  static std::uint64_t node_at(std::uint64_t node, std::size_t field) {
    return header_bytes + node * sizeof(Node) + field;
  }
};

TEST(Trees, find_the_keys_that_are_there) {
  for (const std::size_t count : {1u, 2u, 255u, 256u, 70'000u}) {
    const std::vector<std::uint64_t> keys = keys_of(count, 7);
    const MadeTree made = tree_of(keys, 7);
    EXPECT_EQ(made.levels, count <= 255 ? 1u : count <= 255 * 255 ? 2u : 3u);
    for (std::size_t place = 0; place < count; place += 1 + count / 1000) {
      EXPECT_EQ(find(made.tree(), keys[place]).value, value_at(7, place));
    }
    EXPECT_EQ(find(made.tree(), 0).value, absent);
    EXPECT_EQ(find(made.tree(), keys.back() + 1).value, absent);
    EXPECT_EQ(find(made.tree(), ~std::uint64_t{0}).value, absent);
    std::uint64_t found = 0;
    for (const std::uint64_t key : wanted_of(keys, 1'000, 7)) {
      const std::uint64_t value = find(made.tree(), key).value;
      EXPECT_EQ(value, value_of(keys, 7, key)) << key;
      found += value != absent ? 1 : 0;
    }
    EXPECT_GT(found, 400u);
    EXPECT_LT(found, 800u);
  }
}

TEST_F(Bpt, has_the_generators_values_in_each_way_mode_order_and_shape) {
  // One level, two, and three; fewer searches than work-items, and more.
  for (const Recipe& recipe :
       {Recipe{100, 5, 1}, Recipe{5'000, 700, 2}, Recipe{70'000, 3'000, 3}}) {
    const std::string unsorted = made(recipe);
    const std::string sorted = made(recipe, "sorted");
    const LookupOutcome right = run(unsorted, {});
    EXPECT_EQ(right.totals.found, open(unsorted).header.found);
    EXPECT_EQ(right.totals.bits, open(unsorted).header.bits);
    EXPECT_NE(right.totals.bits, 0u);
    for (const std::string& name : {unsorted, sorted}) {
      for (const Mode mode : apps::modes_here()) {
        for (const By by : {By::kernel, By::threads}) {
          for (const auto& [groups, items] : {std::pair{0u, 0u}, {1u, 1u}, {3u, 7u}, {40u, 64u}}) {
            const LookupOutcome outcome =
                run(name, {.by = by, .mode = mode, .groups = groups, .items = items, .threads = 3});
            EXPECT_EQ(outcome.totals.bits, right.totals.bits);
            EXPECT_EQ(outcome.totals.found, right.totals.found);
          }
        }
      }
    }
  }
}

TEST_F(Bpt, brings_only_the_nodes_that_it_visits) {
  const Recipe recipe{70'000, 20, 3};
  const LookupOutcome few = run(made(recipe), {});
  EXPECT_GT(few.pages, 10u);
  EXPECT_LE(few.pages, 2 + 2 * 20 + 2u);  // Root, inner nodes and leaves, keys to search.
  EXPECT_GE(few.requests, 1u);
  EXPECT_GT(few.kernel_seconds, 0);
  EXPECT_LE(few.kernel_seconds, few.seconds);
  const LookupOutcome pinned = run(made(recipe), {.mode = Mode::pinned});
  EXPECT_EQ(pinned.pages + pinned.requests, 0u);
  ASSERT_EQ(pinned.resident.size(), 3u) << "before, loaded, after";
  EXPECT_GT(pinned.resident[1].own(), pinned.resident[0].own());
  const LookupOutcome sampled = run(made({70'000, 100'000, 3}), {.sampled = true});
  EXPECT_GE(sampled.resident.size(), 3u);
}

TEST_F(Bpt, uses_huge_pages_where_linux_has_them) {
  if (apps::modes_here().size() < 3) GTEST_SKIP() << "Linux gives no huge pages here";
  for (const By by : {By::kernel, By::threads}) {
    const LookupOutcome outcome = run(made({1'000, 100, 1}), {.by = by, .mode = Mode::huge});
    EXPECT_EQ(outcome.huge_bytes, std::uint64_t{2} << 20);
  }
}

TEST_F(Bpt, is_generated_in_both_orders) {
  const std::string unsorted = made({3'000, 100, 8});
  const std::string sorted = made({3'000, 100, 8}, "sorted");
  const auto keys_in = [](const std::string& name) {
    const TreeFile file = open(name);
    std::vector<std::uint64_t> keys(file.header.lookups);
    EXPECT_TRUE(apps::read_at(file, keys.data(), keys.size() * 8, node_at(file.header.nodes, 0)));
    return keys;
  };
  EXPECT_EQ(open(unsorted).header.sorted, 0u);
  EXPECT_EQ(open(sorted).header.sorted, 1u);
  EXPECT_EQ(open(sorted).header.seed, 8u);
  std::vector<std::uint64_t> keys = keys_in(unsorted);
  EXPECT_FALSE(std::is_sorted(keys.begin(), keys.end()));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, keys_in(sorted));
  const std::string folder = sorted.substr(0, sorted.rfind('/'));
  EXPECT_EQ(
      generate(folder, {}).error().message,
      folder +
          ": File exists; name a path that does not exist, in a folder that may be written to");
}

TEST_F(Bpt, refuses_what_is_no_file_of_a_tree) {
  EXPECT_EQ(open_failure(path("nowhere")),
            "No such file or directory; name a file that --generate made");
  EXPECT_EQ(open_failure(path("")), "not a regular file; name a file that --generate made");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(open_failure(path("pipe")), "not a regular file; name a file that --generate made");
  std::ofstream(path("short")) << "K2KBPT\n";
  EXPECT_EQ(open_failure(path("short")),
            std::string("the file has 7 bytes, fewer than its header's 4096") + anew);
  std::ofstream(path("text")) << std::string(5000, 'x');
  EXPECT_EQ(open_failure(path("text")),
            "no file of a B+tree, which begins with K2KBPT; make one with --generate");
}

TEST_F(Bpt, refuses_a_wrong_header_or_size) {
  const Recipe recipe{300, 10, 1};  // Two leaves and a root.
  const auto told = [&](const auto& change) {
    const std::string name = made(recipe);
    Header header = open(name).header;
    header.check = 0;
    change(header);
    const std::vector<std::byte> page = page_of(header);
    Header written;
    std::memcpy(&written, page.data(), sizeof(written));
    put(name, 0, written);
    return open_failure(name);
  };
  EXPECT_EQ(told([](Header&) {}), "no error");
  EXPECT_EQ(told([](Header& header) { header.version = 3; }),
            std::string("version 3 of the format with 4096 bytes a node, but this program reads "
                        "version 1 with 4096") +
                anew);
  EXPECT_EQ(told([](Header& header) { header.node_bytes = 512; }),
            std::string("version 1 of the format with 512 bytes a node, but this program reads "
                        "version 1 with 4096") +
                anew);
  EXPECT_EQ(told([](Header& header) { header.check = 3; }),
            std::string("the header is damaged: its check does not fit") + anew);
  const std::string permitted =
      std::string("; permitted are 1 to 2000000000 and 1 to 2000000000") + anew;
  EXPECT_EQ(told([](Header& header) { header.keys = 0; }),
            "0 keys, 10 of them to search" + permitted);
  EXPECT_EQ(told([](Header& header) { header.keys = keys_most + 1; }),
            "2000000001 keys, 10 of them to search" + permitted);
  EXPECT_EQ(told([](Header& header) { header.lookups = 0; }),
            "300 keys, 0 of them to search" + permitted);
  EXPECT_EQ(told([](Header& header) { header.lookups = lookups_most + 1; }),
            "300 keys, 2000000001 of them to search" + permitted);
  EXPECT_EQ(told([](Header& header) { header.nodes = 4; }),
            std::string("4 nodes in 2 levels, but 300 keys take 3 in 2") + anew);
  EXPECT_EQ(told([](Header& header) { header.levels = 3; }),
            std::string("3 nodes in 3 levels, but 300 keys take 3 in 2") + anew);
  EXPECT_EQ(told([](Header& header) { header.root = 3; }),
            std::string("the root is node 3, but the last one is 2") + anew);
  const std::string name = made(recipe);
  const auto whole = std::filesystem::file_size(name);
  for (const auto bytes : {whole - 1, whole + 1, std::uintmax_t{4096}}) {
    std::filesystem::resize_file(name, bytes);
    EXPECT_EQ(open_failure(name), "the file has " + std::to_string(bytes) +
                                      " bytes, but 3 nodes and 10 keys to search take " +
                                      std::to_string(whole) + anew);
  }
}

TEST_F(Bpt, tells_a_node_that_is_wrong) {
  const Recipe recipe{5'000, 200, 1};  // 20 leaves, and node 20 is the root.
  const auto told = [&](std::uint64_t node, std::size_t field, std::uint32_t value) {
    const std::string name = made(recipe);
    put(name, node_at(node, field), value);
    return failure_of(name);
  };
  const std::string bad_count = std::string(" has no key, or more than it has room for") + anew;
  EXPECT_EQ(told(20, offsetof(Node, count), 0), "node 20" + bad_count);
  EXPECT_EQ(told(20, offsetof(Node, count), 256), "node 20" + bad_count);
  EXPECT_EQ(told(3, offsetof(Node, count), ~std::uint32_t{0}), "node 3" + bad_count);
  const std::string bad_depth =
      std::string(" is a leaf above the last level, or an inner node there") + anew;
  EXPECT_EQ(told(20, offsetof(Node, leaf), 1), "node 20" + bad_depth);
  EXPECT_EQ(told(7, offsetof(Node, leaf), 0), "node 7" + bad_depth);
  const std::string bad_child = std::string(" has a child beyond the nodes") + anew;
  for (const std::uint32_t child : {21u, ~std::uint32_t{0}}) {
    EXPECT_EQ(told(20, offsetof(Node, children) + 4 * sizeof(std::uint32_t), child),
              "node 20" + bad_child);
  }
  // A circle: the root is no leaf.
  EXPECT_EQ(told(20, offsetof(Node, children), 20), "node 20" + bad_depth);
}

TEST_F(Bpt, tells_values_that_are_not_the_generators) {
  const std::string name = made({5'000, 20'000, 1});
  const std::uint64_t found = open(name).header.found;
  put(name, node_at(4, offsetof(Node, values)), std::uint64_t{9});
  const std::string told = failure_of(name);
  const std::string begin = "the answers are not those of the generator: " + std::to_string(found) +
                            " found with the bits ";
  EXPECT_EQ(told.rfind(begin, 0), 0u) << told;
  EXPECT_NE(told.find(", and not " + std::to_string(found) + " with "), std::string::npos);
  EXPECT_NE(told.find(anew), std::string::npos);
  put(name, node_at(4, offsetof(Node, keys) + 8), std::uint64_t{0});
  EXPECT_EQ(failure_of(name).rfind("the answers are not those of the generator: ", 0), 0u);
}

TEST_F(Bpt, tells_a_file_that_becomes_shorter_while_it_is_in_use) {
  for (const std::uint64_t lost :
       {std::uint64_t{1}, std::uint64_t{2'000}, std::uint64_t{200'000}}) {
    for (const LookupSettings& way : ways) {
      const TreeFile file = open(made({20'000, 3'000, 1}));
      ASSERT_EQ(::truncate(file.path.c_str(), static_cast<long>(file.size - lost)), 0);
      const std::string said =
          "the file became shorter while it was in use: " + std::to_string(file.size - lost) +
          " of " + std::to_string(file.size) + " bytes" + anew;
      if (way.by == By::threads && way.mode == Mode::demand && lost > 4096) {
        const apps::Ended ended =
            apps::in_child([&] { return search_all(file, way, small_device()) ? 0 : 2; });
        EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 1) << ended.status;
        EXPECT_EQ(ended.said, "k2k-bpt: " + file.path +
                                  ": the file became shorter while it was mapped: a page of it is "
                                  "gone" +
                                  anew + "\n");
      } else {
        EXPECT_EQ(failure(file, way), said) << lost;
      }
    }
  }
}

TEST_F(Bpt, refuses_the_values_of_a_file_that_was_changed_meanwhile) {
  for (const LookupSettings& way : ways) {
    const TreeFile file = open(made({1'000, 10, 1}));
    const timespec times[2] = {{0, UTIME_OMIT}, {1'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.path.c_str(), times, 0), 0);
    EXPECT_EQ(failure(file, way).rfind("the file was changed while it was in use", 0), 0u);
  }
}

TEST_F(Bpt, tells_answers_that_memory_has_no_room_for) {
#if defined(K2K_TSAN) || defined(K2K_ASAN)
  GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
#endif
  const std::string name = made({1'000, 10, 1});
  Header header = open(name).header;
  header.check = 0;
  header.lookups = 1'000'000'000;
  const std::vector<std::byte> page = page_of(header);
  Header written;
  std::memcpy(&written, page.data(), sizeof(written));
  put(name, 0, written);
  std::filesystem::resize_file(name, header_bytes + header.nodes * 4096 + header.lookups * 8);
  const apps::Ended ended = apps::in_child([&] {
    const rlimit limit{rlim_t{12} << 30, rlim_t{12} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    std::fputs(failure(open(name), {.by = By::threads}).c_str(), stderr);
    return 0;
  });
  EXPECT_EQ(ended.said,
            "no memory for the answers of 1000000000 lookups; make a file with fewer --lookups");
}

}  // namespace
}  // namespace k2k::bpt
