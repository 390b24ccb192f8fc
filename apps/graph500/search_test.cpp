// Goal: the kernel finds the levels of the serial search in each mode, direction, order and shape;
// memory and faults are those of the mode; a wrong or changing file is one line and never a crash.

#include "apps/graph500/search.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "apps/graph500/graph_fixture.hpp"

namespace k2k::graph500 {
namespace {

constexpr By ways[] = {By::kernel, By::threads, By::serial};

class Searches : public GraphFiles {
 protected:
  static Outcome run(const std::string& path, const Settings& settings) {
    const auto outcome = search(path, settings, apps::small_device(2));
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : Outcome();
  }
  static std::vector<std::uint64_t> digests(const Outcome& outcome) {
    std::vector<std::uint64_t> all;
    for (const Search& one : outcome.searches) all.push_back(one.digest);
    return all;
  }
  static std::string failure(const std::string& path, const Settings& settings) {
    const auto outcome = search(path, settings, apps::small_device(2));
    return outcome ? "no failure" : outcome.error().message;
  }
  static std::string failure(const GraphFile& file, const Settings& settings) {
    const auto outcome = search(file, settings, apps::small_device(2));
    return outcome ? "no failure" : outcome.error().message;
  }
};

TEST_F(Searches, find_the_same_levels_in_every_way_mode_and_direction) {
  for (const Order order : {Order::unsorted, Order::sorted}) {
    const std::string file = graph({.scale = 8, .order = order});
    const std::vector<std::uint64_t> right = digests(run(file, {.by = By::serial, .roots = 3}));
    ASSERT_EQ(right.size(), 3u);
    EXPECT_NE(right[0], right[1]);
    for (const Mode mode : apps::modes_here()) {
      EXPECT_EQ(digests(run(file, {.by = By::serial, .mode = mode, .roots = 3})), right);
      for (const Direction direction :
           {Direction::hybrid, Direction::top_down, Direction::bottom_up}) {
        for (const By by : {By::kernel, By::threads}) {
          if (by == By::threads && mode == Mode::huge) continue;  // As pinned.
          for (const std::uint32_t alone : {0u, 40u, 4096u}) {
            const Settings settings{
                .by = by, .mode = mode, .direction = direction, .roots = 3, .alone = alone};
            EXPECT_EQ(digests(run(file, settings)), right) << alone;
          }
        }
      }
    }
  }
}

TEST_F(Searches, find_the_same_levels_for_each_shape_and_size) {
  for (const std::uint32_t scale : {2u, 5u, 6u, 7u}) {  // Below, at and above a word of a bitmap.
    const std::string file = graph({.scale = scale});
    const auto right = digests(run(file, {.by = By::serial, .roots = 2}));
    for (const auto& [groups, items] : {std::array{1u, 1u}, {3u, 7u}, {40u, 64u}}) {
      for (const std::uint32_t alone : {0u, 9u}) {
        const Settings settings{
            .mode = Mode::pinned, .roots = 2, .groups = groups, .items = items, .alone = alone};
        EXPECT_EQ(digests(run(file, settings)), right) << scale << ", " << groups << ", " << items;
      }
    }
    EXPECT_EQ(digests(run(file, {.by = By::threads, .roots = 2, .groups = 5, .threads = 3})),
              right);
  }
}

// Turns of a whole cache line of the bitmaps, and more vertices than the lists have places.
TEST_F(Searches, find_the_same_levels_in_a_graph_of_several_turns_a_part) {
  const std::string file = graph({.scale = 13});
  const auto right = digests(run(file, {.by = By::serial, .roots = 2}));
  for (const By by : {By::kernel, By::threads}) {
    for (const std::uint32_t alone : {0u, 1u, 300u, 4096u}) {
      const Settings settings{
          .by = by, .mode = Mode::pinned, .roots = 2, .groups = 4, .alone = alone};
      EXPECT_EQ(digests(run(file, settings)), right) << alone;
    }
  }
}

// Lists that a group shares by waves and as a whole, a table that is full (512 places a group), a
// last wave that is not, and groups of one item.
TEST_F(Searches, find_the_same_levels_if_groups_share_long_lists) {
  for (const std::uint32_t scale : {8u, 12u}) {
    const std::string file = graph({.scale = scale});
    const auto right = digests(run(file, {.by = By::serial, .roots = 2}));
    for (const Mode mode : {Mode::pinned, Mode::demand}) {
      for (const auto& [groups, items] : {std::array{1u, 1u}, {2u, 100u}, {3u, 128u}}) {
        for (const std::uint32_t share : {1u, 20u, 1'000u}) {
          const Settings settings{.mode = mode,
                                  .direction = Direction::top_down,
                                  .roots = 2,
                                  .groups = groups,
                                  .items = items,
                                  .alone = share == 20 ? 100 : 0,
                                  .share = share};
          EXPECT_EQ(digests(run(file, settings)), right)
              << groups << ", " << items << ", " << share;
        }
      }
    }
  }
}

TEST_F(Searches, launch_less_often_if_small_levels_are_searched_alone) {
  const std::string file = graph({.scale = 13});
  for (const By by : {By::kernel, By::threads}) {
    const auto steps = [&](std::uint32_t alone, Direction direction) {
      return run(file, {.by = by, .mode = Mode::pinned, .direction = direction, .alone = alone});
    };
    for (const Direction direction : {Direction::hybrid, Direction::top_down}) {
      const Outcome each = steps(0, direction);
      std::uint64_t levels = 0;
      for (const Search& one : each.searches) levels += one.levels;
      EXPECT_EQ(each.steps, levels + roots_max) << "a step a level, the empty one too, and clear";
      const Outcome fewer = steps(4096, direction);
      // At least the level of the root, or the last one and the empty one.
      EXPECT_LE(fewer.steps, each.steps - roots_max);
      EXPECT_GT(fewer.steps, roots_max) << "some levels are too large";
      EXPECT_EQ(digests(fewer), digests(each));
    }
    // Towards the frontier: no level alone.
    EXPECT_EQ(steps(4096, Direction::bottom_up).steps, steps(0, Direction::bottom_up).steps);
  }
  // All of a small graph with the clearing.
  const Outcome small = run(graph({.scale = 4}), {.mode = Mode::pinned, .alone = 4096});
  EXPECT_EQ(small.steps, small.searches.size());
}

TEST_F(Searches, go_through_the_same_graph_in_both_orders) {
  const Settings settings{.by = By::serial};
  const Outcome unsorted = run(graph({.scale = 8}), settings);
  const Outcome sorted = run(graph({.scale = 8, .order = Order::sorted}), settings);
  ASSERT_EQ(unsorted.searches.size(), roots_max);
  ASSERT_EQ(sorted.searches.size(), roots_max);
  for (std::size_t place = 0; place < roots_max; ++place) {
    EXPECT_EQ(unsorted.searches[place].vertices, sorted.searches[place].vertices);
    EXPECT_EQ(unsorted.searches[place].edges, sorted.searches[place].edges);
    EXPECT_EQ(unsorted.searches[place].levels, sorted.searches[place].levels);
  }
}

TEST_F(Searches, take_their_memory_when_the_mode_says) {
  const std::string file = graph({.scale = 14});
  const Outcome demand = run(file, {.mode = Mode::demand, .roots = 1});
  const Outcome pinned = run(file, {.mode = Mode::pinned, .roots = 1});
  const auto grown_by_load = [](const Outcome& outcome) {
    const std::uint64_t before = outcome.resident[0].own();
    const std::uint64_t after = outcome.resident[1].own();
    return after > before ? after - before : 0;
  };
  // Begin, load, one search. Linux counts pages in batches.
  ASSERT_EQ(demand.resident.size(), 3u);
  EXPECT_GT(grown_by_load(pinned), pinned.graph_bytes * 3 / 4);
  EXPECT_LT(grown_by_load(demand), demand.graph_bytes / 2);
  EXPECT_GT(demand.resident[2].own(), demand.resident[1].own() + demand.graph_bytes / 2);
  EXPECT_GE(demand.resident[0].cached, demand.graph_bytes) << "just written";

  EXPECT_GT(demand.region_pages, demand.graph_bytes / page / 2);
  EXPECT_LE(demand.region_pages, demand.graph_bytes / page);
  EXPECT_EQ(pinned.region_pages, 0u);
  EXPECT_GE(pinned.minor_faults, pinned.graph_bytes / page * 3 / 4);
  EXPECT_GT(demand.device_seconds, 0);
  EXPECT_LE(demand.device_seconds, demand.search_seconds);
  EXPECT_EQ(digests(demand), digests(pinned));
}

TEST_F(Searches, sample_their_memory_all_the_time_if_wanted) {
  const Outcome outcome =
      run(graph({.scale = 10}), {.by = By::serial, .roots = 64, .sampled = true});
  EXPECT_GE(outcome.resident.size(), 66u);
}

TEST_F(Searches, use_huge_pages_where_linux_has_them) {
  if (apps::modes_here().size() < 3) GTEST_SKIP() << "Linux gives no huge pages here";
  for (const By by : ways) {
    const Outcome outcome = run(graph({.scale = 4}), {.by = by, .mode = Mode::huge, .roots = 1});
    EXPECT_EQ(outcome.huge_bytes, std::uint64_t{2} << 20);
    EXPECT_EQ(outcome.region_pages, 0u);
  }
}

TEST_F(Searches, refuse_roots_from_which_nothing_is_reached) {
  const std::string made = graph({.scale = 8});
  const GraphFile file = open(made);
  EXPECT_EQ(failure(made, {.root = 256}),
            "--root 256 is no vertex of " + made + ", whose last is 255");
  std::vector<std::uint64_t> offsets(257);
  ASSERT_TRUE(
      apps::read_at(file, offsets.data(), 257 * sizeof(offsets[0]), file.sections().offsets));
  std::uint64_t lonely = 0;
  while (lonely < 256 && offsets[lonely] != offsets[lonely + 1]) ++lonely;
  ASSERT_LT(lonely, 256u);
  const std::string said = made + ": vertex " + std::to_string(lonely) +
                           " has no edges, so a search from it reaches nothing; take another "
                           "--root, as " +
                           std::to_string(file.header.root[0]);
  EXPECT_EQ(failure(made, {.root = lonely}), said);
  const std::uint64_t right = file.header.root[1];
  EXPECT_EQ(run(made, {.root = right}).searches[0].root, right);
}

TEST_F(Searches, tell_the_place_of_a_wrong_target_in_every_way) {
  const std::string made = graph({.scale = 6});
  const GraphFile file = open(made);
  const std::uint64_t root = file.header.root[0];
  std::uint64_t place = 0;  // The first target of the root.
  ASSERT_TRUE(apps::read_at(file, &place, sizeof(place), file.sections().offsets + root * 8));
  put(made, file.sections().targets + place * 4, std::uint32_t{64});
  const std::string said = made + ": target " + std::to_string(place) + " joins vertex " +
                           std::to_string(root) + " with vertex 64, and the last vertex is 63" +
                           anew;
  for (const By by : ways) {
    for (const Mode mode : apps::modes_here()) {
      for (const std::uint32_t alone : {0u, 4096u}) {
        EXPECT_EQ(failure(made, {.by = by,
                                 .mode = mode,
                                 .direction = Direction::top_down,
                                 .roots = 1,
                                 .alone = alone,
                                 .share = alone == 0 ? 1 : 0}),
                  said);
      }
    }
  }
  // Bottom-up other vertices may look first, and the root's own list is not needed: a wrong target
  // of every vertex is met.
  for (std::uint64_t at = 0; at < file.header.targets; ++at) {
    put(made, file.sections().targets + at * 4, ~std::uint32_t{0});
  }
  const std::string met = failure(made, {.direction = Direction::bottom_up, .roots = 1});
  EXPECT_NE(met.find(" with vertex 4294967295, and the last vertex is 63"), std::string::npos)
      << met;
}

TEST_F(Searches, tell_the_vertex_of_wrong_offsets_in_every_way) {
  const std::string made = graph({.scale = 6});
  const GraphFile file = open(made);
  const std::uint64_t targets = file.header.targets;
  std::vector<std::uint64_t> offsets(65);
  ASSERT_TRUE(
      apps::read_at(file, offsets.data(), 65 * sizeof(offsets[0]), file.sections().offsets));
  // The root's own range stays right; every other vertex's end lies beyond the targets.
  const std::uint64_t root = file.header.root[0];
  for (std::uint64_t vertex = 0; vertex <= 64; ++vertex) {
    if (vertex == root || vertex == root + 1) continue;
    put(made, file.sections().offsets + vertex * 8, targets + 1);
  }
  for (const By by : ways) {
    for (const std::uint32_t alone : {0u, 4096u}) {
      const std::string said = failure(made, {.by = by, .roots = 1, .alone = alone});
      EXPECT_EQ(said.find(made + ": the targets of vertex "), 0u) << said;
      EXPECT_NE(said.find(", of " + std::to_string(targets) + anew), std::string::npos) << said;
    }
  }
  put(made, file.sections().offsets + root * 8, targets + 1);
  EXPECT_EQ(failure(made, {.roots = 1}), made + ": the targets of vertex " + std::to_string(root) +
                                             " are " + std::to_string(targets + 1) + " to " +
                                             std::to_string(offsets[root + 1]) + ", of " +
                                             std::to_string(targets) + anew);
}

TEST_F(Searches, end_when_the_file_was_cut_before_its_pages_came) {
  // The end of the targets is gone, the root's offsets are there.
  const auto cut_graph = [&] {
    const std::string made = graph({.scale = 10});
    GraphFile file = open(made);
    cut(made, file.sections().targets + page);
    return file;
  };
  for (const By by : ways) {
    for (const Mode mode : {Mode::demand, Mode::pinned}) {
      if (by != By::kernel && mode == Mode::demand) continue;  // The next test.
      const GraphFile file = cut_graph();
      EXPECT_EQ(failure(file, {.by = by, .mode = mode, .roots = 1}),
                file.path + ": the file became shorter while it was in use: " +
                    std::to_string(file.sections().targets + page) + " of " +
                    std::to_string(file.size) + " bytes" + anew);
    }
  }
}

TEST_F(Searches, of_threads_end_with_one_line_when_the_mapped_file_is_cut) {
  const std::string made = graph({.scale = 10});
  const GraphFile file = open(made);
  cut(made, file.sections().targets + page);
  for (const By by : {By::threads, By::serial}) {
    const Ended ended = in_child([&] {
      return search(file, {.by = by, .roots = 1, .threads = 1}, apps::small_device(2)) ? 0 : 2;
    });
    EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 1) << ended.status;
    EXPECT_EQ(ended.said,
              "k2k-graph500: " + made +
                  ": the file became shorter while it was mapped: a page of it is gone" + anew +
                  "\n");
  }
}

TEST_F(Searches, refuse_the_result_of_a_file_that_was_changed_meanwhile) {
  for (const By by : ways) {
    const std::string made = graph({.scale = 6});
    const GraphFile file = open(made);
    const timespec times[2] = {{0, UTIME_OMIT}, {1'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, made.c_str(), times, 0), 0);
    EXPECT_NE(
        failure(file, {.by = by, .roots = 1}).find(": the file was changed while it was in use"),
        std::string::npos);
  }
}

TEST_F(Searches, leave_the_handler_of_cut_files_as_it_was) {
  struct sigaction before{};
  ::sigaction(SIGBUS, nullptr, &before);
  run(graph({.scale = 4}), {.by = By::serial, .roots = 1});
  struct sigaction after{};
  ::sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

// Sends the signal as soon as the searches have begun, when its handler stands.
class SignalOnceSearching {
 public:
  explicit SignalOnceSearching(int number)
      : thread_([number, before = handler_of(number)] {
          constexpr int tries_max = 60'000;
          for (int tries = 0; tries < tries_max && handler_of(number) == before; ++tries) {
            ::usleep(1'000);
          }
          ::usleep(5'000);
          ::kill(::getpid(), number);
        }) {}
  ~SignalOnceSearching() { thread_.join(); }

 private:
  static void (*handler_of(int number))(int) {
    struct sigaction now{};
    ::sigaction(number, nullptr, &now);
    return now.sa_handler;
  }
  std::thread thread_;
};

TEST_F(Searches, that_ended_before_a_signal_are_kept_and_the_others_left_out) {
  const std::string made = graph({.scale = 15});
  const std::vector<std::uint64_t> right = digests(run(made, {.by = By::threads}));
  for (const By by : ways) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      const Ended ended = in_child([&] {
        const SignalOnceSearching signal(number);
        const auto outcome = search(made, {.by = by}, apps::small_device(2));
        if (!outcome) return 1;
        const std::vector<std::uint64_t> seen = digests(*outcome);
        if (outcome->interrupted_by != number || outcome->wanted != roots_max) return 2;
        if (seen.size() >= roots_max) return 3;
        return std::equal(seen.begin(), seen.end(), right.begin()) ? 0 : 4;
      });
      EXPECT_TRUE(WIFEXITED(ended.status)) << ended.status;
      EXPECT_EQ(WEXITSTATUS(ended.status), 0) << ended.said;
    }
  }
}

TEST_F(Searches, leave_the_handlers_of_signals_as_they_were) {
  struct sigaction before{};
  ::sigaction(SIGINT, nullptr, &before);
  const Outcome outcome = run(graph({.scale = 4}), {.by = By::serial});
  EXPECT_EQ(outcome.interrupted_by, 0);
  EXPECT_EQ(outcome.wanted, outcome.searches.size());
  struct sigaction after{};
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST_F(Searches, by_more_threads_than_may_be_started_are_an_error) {
  const std::string made = graph({.scale = 4});
  apps::expect_too_few_threads([&](std::uint32_t threads) {
    return failure(made, {.by = By::threads, .roots = 1, .threads = threads});
  });
}

}  // namespace
}  // namespace k2k::graph500
