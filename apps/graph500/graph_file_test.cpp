// Goal: a file that is no graph, or no whole one, is refused with one line that names the remedy,
// and so is a graph that cannot be made; an interrupted generation leaves nothing behind.

#include "apps/graph500/graph_file.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <vector>

#include "apps/graph500/graph_fixture.hpp"

namespace k2k::graph500 {
namespace {

class GraphFileTest : public GraphFiles {
 protected:
  static std::string refusal(const std::string& path) {
    const auto file = open_graph(path);
    return file ? "opened" : file.error().message;
  }
  // Of a graph with one field changed; the path is left out.
  template <class Value>
  std::string refusal_with(std::size_t at, const Value& value) {
    const std::string made = graph({.scale = 4});
    put(made, at, value);
    const std::string said = refusal(made);
    return said.substr(std::min(said.size(), made.size() + 2));
  }
};

TEST_F(GraphFileTest, has_the_graph_that_was_generated) {
  const Recipe recipe{.scale = 6, .edge_factor = 5, .seed = 9, .order = Order::sorted};
  const GraphFile file = open(graph(recipe));
  const Graph made = make_graph(recipe);
  const Header& header = file.header;
  EXPECT_EQ(header.scale, 6u);
  EXPECT_EQ(header.edge_factor, 5u);
  EXPECT_EQ(header.seed, 9u);
  EXPECT_EQ(header.order, Order::sorted);
  EXPECT_EQ(header.vertices, 64u);
  EXPECT_EQ(header.edges, 320u);
  ASSERT_EQ(header.targets, made.targets.size());
  EXPECT_EQ(std::vector<std::uint32_t>(header.root, header.root + header.roots), made.roots);
  std::vector<std::uint64_t> offsets(65);
  std::vector<std::uint32_t> targets(header.targets);
  const Sections at = file.sections();
  EXPECT_TRUE(apps::read_at(file, offsets.data(), offsets.size() * sizeof(offsets[0]), at.offsets));
  EXPECT_TRUE(apps::read_at(file, targets.data(), targets.size() * sizeof(targets[0]), at.targets));
  EXPECT_EQ(offsets, made.offsets);
  EXPECT_EQ(targets, made.targets);
  EXPECT_EQ(at.targets % page, 0u);
  EXPECT_EQ(at.searched_bytes() % page, 0u);
  EXPECT_TRUE(apps::unchanged(file));
}

TEST_F(GraphFileTest, that_is_none_is_refused) {
  EXPECT_EQ(refusal(path("none")),
            path("none") + ": No such file or directory; name a file that --generate made");
  EXPECT_EQ(refusal(path("")), path("") + ": not a regular file; name a file that --generate made");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(path("pipe")),
            path("pipe") + ": not a regular file; name a file that --generate made");
  const std::string made = graph({.scale = 4});
  cut(made, 100);
  EXPECT_EQ(refusal(made), made + ": the file has 100 bytes, fewer than its header's 4096" + anew);
}

TEST_F(GraphFileTest, with_a_wrong_header_is_refused) {
  const std::string wrong_magic =
      std::string(
          "is no graph of k2k-graph500, or its generation did not end: it does not begin "
          "with K2KGRAPH") +
      anew;
  EXPECT_EQ(refusal_with(offsetof(Header, magic), 'k'), wrong_magic);
  EXPECT_EQ(refusal_with(offsetof(Header, magic), std::uint64_t{0}), wrong_magic);
  EXPECT_EQ(refusal_with(offsetof(Header, version), std::uint32_t{7}),
            std::string("has format version 7, and this program reads version 1") + anew);
  EXPECT_EQ(refusal_with(offsetof(Header, byte_order), std::uint32_t{0x04030201}),
            std::string("was made on a machine of another byte order") + anew);
  EXPECT_EQ(refusal_with(offsetof(Header, scale), std::uint32_t{0}),
            std::string("its header has scale 0 and edge factor 16, of which 1 to 30 and 1 to 1024 "
                        "are possible") +
                anew);
  EXPECT_EQ(
      refusal_with(offsetof(Header, scale), std::uint32_t{31}).find("its header has scale 31"), 0u);
  EXPECT_EQ(refusal_with(offsetof(Header, edge_factor), std::uint32_t{0})
                .find("its header has scale 4 and edge factor 0"),
            0u);
  const char* const disagree = "the sizes of its header do not agree: scale ";
  EXPECT_EQ(refusal_with(offsetof(Header, scale), std::uint32_t{5}).find(disagree), 0u);
  EXPECT_EQ(refusal_with(offsetof(Header, vertices), std::uint64_t{17}).find(disagree), 0u);
  EXPECT_EQ(refusal_with(offsetof(Header, edges), ~std::uint64_t{0}).find(disagree), 0u);
  EXPECT_EQ(refusal_with(offsetof(Header, targets), std::uint64_t{513}).find(disagree), 0u);
  EXPECT_EQ(refusal_with(offsetof(Header, order), std::uint32_t{2}).find(disagree), 0u);
  EXPECT_EQ(refusal_with(offsetof(Header, roots), std::uint32_t{65}),
            std::string("its header has 65 roots, of which 1 to 64 are possible") + anew);
  EXPECT_EQ(refusal_with(offsetof(Header, roots), std::uint32_t{0}).find("its header has 0 roots"),
            0u);
  EXPECT_EQ(refusal_with(offsetof(Header, root), std::uint32_t{16}),
            std::string("its header has root 16, and its last vertex is 15") + anew);
}

TEST_F(GraphFileTest, that_is_not_whole_is_refused) {
  const std::string made = graph({.scale = 4});
  const std::uint64_t bytes = open(made).sections().end;
  const std::uint64_t targets = open(made).header.targets;
  for (const std::uint64_t other : {bytes - 1, bytes + 1}) {
    cut(made, other);
    EXPECT_EQ(refusal(made), made + ": the file has " + std::to_string(other) +
                                 " bytes, but 16 vertices, " + std::to_string(targets) +
                                 " targets and 256 edges take " + std::to_string(bytes) + anew);
  }
}

TEST_F(GraphFileTest, that_shrinks_or_changes_while_it_is_open_is_an_error) {
  const std::string made = graph({.scale = 4});
  const GraphFile file = open(made);
  cut(made, 4096);
  char byte = 0;
  const Status read = apps::read_at(file, &byte, 1, 4096);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, made + ": the file became shorter while it was in use: 4096 of " +
                                      std::to_string(file.size) + " bytes" + anew);
  const Status same = apps::unchanged(file);
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().message, read.error().message);
}

TEST_F(GraphFileTest, is_not_made_of_impossible_sizes) {
  const auto refused = [&](const Recipe& recipe) {
    const std::string wanted = path("impossible");
    const Status made = generate(wanted, recipe);
    EXPECT_NE(::access(wanted.c_str(), F_OK), 0) << "the refused graph left a file";
    return made ? "made" : made.error().message;
  };
  EXPECT_EQ(refused({.scale = 0}), "--scale 0 is not in 1 to 30: a graph has 2^scale vertices");
  EXPECT_EQ(refused({.scale = 31}), "--scale 31 is not in 1 to 30: a graph has 2^scale vertices");
  EXPECT_EQ(refused({.edge_factor = 0}), "--edge-factor 0 is not in 1 to 1024");
  EXPECT_EQ(refused({.edge_factor = 1025}), "--edge-factor 1025 is not in 1 to 1024");
  // Two edges between two vertices: with some seed both are loops.
  std::string loops;
  for (std::uint64_t seed = 0; seed < 100 && loops.empty(); ++seed) {
    const Recipe recipe{.scale = 1, .edge_factor = 1, .seed = seed};
    if (!make_graph(recipe).roots.empty()) continue;
    loops = refused(recipe);
    EXPECT_EQ(loops, "a graph of scale 1, edge factor 1 and seed " + std::to_string(seed) +
                         " has no edge between two vertices; take another --seed or a larger "
                         "--scale");
  }
  EXPECT_FALSE(loops.empty());
}

TEST_F(GraphFileTest, is_not_made_where_a_file_is_or_no_folder) {
  const std::string made = graph({.scale = 4});
  const auto refused = [](const std::string& wanted) {
    const Status again = generate(wanted, {.scale = 4});
    return again ? "made" : again.error().message;
  };
  const std::string remedy =
      "; name a path that does not exist, in a folder that may be written to";
  EXPECT_EQ(refused(made), made + ": File exists" + remedy);
  EXPECT_TRUE(open_graph(made)) << "the file that was there is untouched";
  EXPECT_EQ(refused(path("none/graph")),
            path("none/graph") + ": No such file or directory" + remedy);
}

TEST_F(GraphFileTest, that_the_disk_has_no_room_for_leaves_nothing_behind) {
  const std::string wanted = path("large");
  const Ended ended = in_child([&] {  // A limit cannot be raised again.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10'000, 10'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status made = generate(wanted, {.scale = 8});
    const std::string begin = wanted + ": File too large; the file needs ";
    return !made && made.error().message.find(begin) == 0 ? 0 : 1;
  });
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_NE(::access(wanted.c_str(), F_OK), 0);
}

TEST_F(GraphFileTest, that_memory_has_no_room_for_is_an_error) {
#if defined(K2K_TSAN) || defined(K2K_ASAN)
  GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
#endif
  const std::string wanted = path("large");
  const Ended ended = in_child([&] {  // A limit cannot be raised again.
    const rlimit limit{rlim_t{4} << 30, rlim_t{4} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    const Status made = generate(wanted, {.scale = 28});
    return !made && made.error().code == ENOMEM &&
                   made.error().message ==
                       "no memory for a graph of scale 28 and edge factor 16, which takes at least "
                       "70656 MiB; take a smaller --scale or --edge-factor"
               ? 0
               : 1;
  });
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_NE(::access(wanted.c_str(), F_OK), 0);
}

TEST_F(GraphFileTest, is_removed_when_its_generation_is_interrupted) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string wanted = path("interrupted");
    const pid_t child = ::fork();
    if (child == 0) ::_exit(generate(wanted, {.scale = 22}) ? 0 : 1);
    for (int tries = 0; tries < 10'000 && ::access(wanted.c_str(), F_OK) != 0; ++tries) {
      ::usleep(1'000);
    }
    ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_NE(::access(wanted.c_str(), F_OK), 0);
  }
}

}  // namespace
}  // namespace k2k::graph500
