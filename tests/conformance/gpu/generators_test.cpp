// Goal: the kernels of the ten generators of requests (labs/interference/generators) answer on a
// GPU what the host computes. The generators themselves fill their inputs on demand, which only the
// cpu backend can; here the inputs are memory that host and device share.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "apps/bpt/search.hpp"
#include "apps/xsbench/lookup.hpp"
#include "labs/interference/generators/files_kernel.hpp"
#include "labs/interference/generators/graph_kernels.hpp"
#include "labs/interference/generators/heap_kernel.hpp"
#include "labs/interference/generators/pages_kernel.hpp"
#include "labs/interference/generators/signals_kernel.hpp"
#include "labs/interference/generators/spmv_kernel.hpp"
#include "labs/interference/generators/ubench_kernel.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance {
namespace {

using namespace labs::generators;

constexpr LaunchShape shape{2, 32};
constexpr std::size_t page_bytes = 4096;

// Values in memory that host and device share.
template <class Value>
class Shared {
 public:
  Shared(Runtime& runtime, const std::vector<Value>& values)
      : runtime_(runtime), count_(values.size()) {
    // Whole pages, on a page: B+-tree nodes are aligned so.
    const std::size_t bytes = count_ * sizeof(Value) + page_bytes;
    memory_ = runtime.allocate_shared(bytes).value();
    const auto address = reinterpret_cast<std::uintptr_t>(memory_);
    values_ = reinterpret_cast<Value*>((address + page_bytes - 1) / page_bytes * page_bytes);
    std::memcpy(static_cast<void*>(values_), values.data(), count_ * sizeof(Value));
  }
  Shared(Runtime& runtime, std::size_t count) : Shared(runtime, std::vector<Value>(count)) {}
  ~Shared() { runtime_.free_shared(memory_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  [[nodiscard]] Value* get() const { return values_; }
  [[nodiscard]] std::vector<Value> all() const { return {values_, values_ + count_}; }

 private:
  Runtime& runtime_;
  std::size_t count_;
  void* memory_ = nullptr;
  Value* values_ = nullptr;
};

class GeneratorKernels : public testing::Test {
 protected:
  GeneratorKernels() : runtime_(Runtime::create({.backend = K2K_CONFORMANCE_GPU}).value()) {}

  template <class Kernel>
  void launch(const Kernel& kernel) {
    const Result<LaunchReport> report = runtime_.launch(shape, kernel, "generator");
    ASSERT_TRUE(report.ok()) << report.error().message;
  }

  Runtime runtime_;
};

TEST_F(GeneratorKernels, ubench_reads_pages_and_a_file) {
  constexpr std::size_t accesses = 100;
  std::vector<std::uint64_t> data(accesses * UbenchKernel::words_a_page);
  std::vector<std::uint64_t> words(accesses);
  for (std::size_t at = 0; at < accesses; ++at) {
    data[at * UbenchKernel::words_a_page] = words[at] = 7 * at + 1;
  }
  const Shared<std::uint64_t> pages(runtime_, data);
  const Shared<std::uint64_t> seen(runtime_, accesses);
  launch(UbenchKernel{pages.get(), seen.get(), accesses, -1, 0});
  EXPECT_EQ(seen.all(), words);

  const std::string path = testing::TempDir() + "k2k_ubench_" + std::to_string(::getpid());
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ::unlink(path.c_str());
  for (std::uint64_t& word : words) ++word;
  const auto bytes = static_cast<ssize_t>(accesses * sizeof(words[0]));
  ASSERT_EQ(::pwrite(file, words.data(), static_cast<std::size_t>(bytes), 0), bytes);
  launch(UbenchKernel{nullptr, seen.get(), accesses, file, 0});
  EXPECT_EQ(seen.all(), words);
  ::close(file);
}

TEST_F(GeneratorKernels, bpt_finds_the_values_of_keys) {
  constexpr std::uint32_t leaves = 4;
  constexpr std::uint32_t keys = 100;
  std::vector<bpt::Node> tree(1 + leaves);
  tree[0].count = leaves;
  std::vector<std::uint64_t> wanted;
  std::vector<std::uint64_t> right;
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    bpt::Node& node = tree[1 + leaf];
    node.count = keys;
    node.leaf = 1;
    for (std::uint32_t at = 0; at < keys; ++at) {
      node.keys[at] = 10 * (leaf * keys + at) + 5;
      node.values[at] = 3 * node.keys[at];
    }
    tree[0].keys[leaf] = node.keys[0];
    tree[0].children[leaf] = 1 + leaf;
  }
  for (std::uint64_t key = 0; key < 10 * leaves * keys + 20; key += 5) {
    wanted.push_back(key);
    right.push_back(key % 10 == 5 && key < 10 * leaves * keys ? 3 * key : bpt::absent);
  }
  const Shared<bpt::Node> nodes(runtime_, tree);
  const Shared<std::uint64_t> asked(runtime_, wanted);
  const Shared<std::uint64_t> found(runtime_, wanted.size());
  launch(bpt::Search{.tree = {nodes.get(), tree.size(), 0, 2},
                     .wanted = asked.get(),
                     .found = found.get(),
                     .lookups = wanted.size()});
  EXPECT_EQ(found.all(), right);
}

TEST_F(GeneratorKernels, xsbench_sums_cross_sections) {
  constexpr std::uint32_t nuclides = 3;
  constexpr std::uint32_t points = 8;
  constexpr std::uint64_t lookups = 200;
  constexpr std::uint64_t seed = 3;
  std::vector<xsbench::Point> grids(std::size_t{nuclides} * points);
  std::vector<double> energies;
  for (std::uint32_t at = 0; at < nuclides * points; ++at) {
    grids[at].energy = (at % points + 0.1 + 0.2 * (at / points)) / points;
    energies.push_back(grids[at].energy);
    for (std::uint32_t channel = 0; channel < xsbench::channel_count; ++channel) {
      grids[at].xs[channel] = 0.01 * ((at * 7 + channel * 5) % 100);
    }
  }
  std::sort(energies.begin(), energies.end());
  const auto below_in = [&](std::uint32_t nuclide, double energy) {
    std::uint32_t place = 0;
    while (place + 2 < points && grids[nuclide * points + place + 1].energy <= energy) ++place;
    return place;
  };
  std::vector<std::uint32_t> indices;
  for (const double energy : energies) {
    for (std::uint32_t nuclide = 0; nuclide < nuclides; ++nuclide) {
      indices.push_back(below_in(nuclide, energy));
    }
  }
  std::vector<xsbench::Material> materials;
  std::vector<std::uint32_t> of_materials;
  std::vector<double> concentrations;
  for (std::uint32_t material = 0; material < xsbench::material_count; ++material) {
    materials.push_back({2 * material, 2 * material + 2});
    for (std::uint32_t entry = 0; entry < 2; ++entry) {
      of_materials.push_back((material + entry) % nuclides);
      concentrations.push_back(0.1 * (material + 1) + entry);
    }
  }
  const Shared<double> grid(runtime_, energies);
  const Shared<std::uint32_t> places(runtime_, indices);
  const Shared<xsbench::Point> values(runtime_, grids);
  const Shared<xsbench::Material> shared_materials(runtime_, materials);
  const Shared<std::uint32_t> shared_nuclides(runtime_, of_materials);
  const Shared<double> shared_concentrations(runtime_, concentrations);
  const Shared<xsbench::Answer> answers(runtime_, lookups);
  launch(xsbench::Lookup{.energies = grid.get(),
                         .energy_count = energies.size(),
                         .indices = places.get(),
                         .nuclides = nuclides,
                         .points = values.get(),
                         .grid_points = points,
                         .materials = shared_materials.get(),
                         .material_nuclides = shared_nuclides.get(),
                         .concentrations = shared_concentrations.get(),
                         .answers = answers.get(),
                         .lookups = lookups,
                         .seed = seed});
  for (std::uint64_t lookup = 0; lookup < lookups; ++lookup) {
    const xsbench::Sample sample = xsbench::sample_of(seed, lookup);
    double macroscopic[xsbench::channel_count] = {};
    const xsbench::Material material = materials[sample.material];
    for (std::uint32_t entry = material.begin; entry < material.end; ++entry) {
      const std::uint32_t nuclide = of_materials[entry];
      const xsbench::Point* const low = &grids[nuclide * points + below_in(nuclide, sample.energy)];
      xsbench::add_nuclide(low[0], low[1], sample.energy, concentrations[entry], macroscopic);
    }
    const xsbench::Answer right = xsbench::answer_of(macroscopic);
    const xsbench::Answer got = answers.get()[lookup];
    ASSERT_NEAR(got.sum, right.sum, 1e-12 * std::abs(right.sum)) << lookup;
    ASSERT_EQ(got.largest, right.largest) << lookup;
  }
}

// Three edges a vertex, with weights, and what the host finds in it from vertex 0.
struct Graph {
  static constexpr std::uint32_t vertices = 200;
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> targets;
  std::vector<std::uint32_t> weights;

  Graph() {
    for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
      for (const std::uint32_t target : {vertex * 7 + 1, vertex * 13 + 5, vertex + 1}) {
        targets.push_back(target % vertices);
        weights.push_back(1 + static_cast<std::uint32_t>(weights.size()) * 31 % 17);
      }
      offsets.push_back(static_cast<std::uint32_t>(targets.size()));
    }
  }
  // 1 + the least sum of weights to each vertex; 0: it is not reached.
  [[nodiscard]] std::vector<std::uint32_t> distances(const std::vector<std::uint32_t>& of) const {
    using Step = std::pair<std::uint32_t, std::uint32_t>;  // Distance, vertex.
    std::vector<std::uint32_t> best(vertices, 0);
    std::priority_queue<Step, std::vector<Step>, std::greater<>> next;
    next.emplace(1, 0);
    while (!next.empty()) {
      const auto [distance, vertex] = next.top();
      next.pop();
      if (best[vertex] != 0) continue;
      best[vertex] = distance;
      for (std::uint32_t edge = offsets[vertex]; edge < offsets[vertex + 1]; ++edge) {
        next.emplace(distance + of[edge], targets[edge]);
      }
    }
    return best;
  }
};

TEST_F(GeneratorKernels, bfs_finds_the_depth_of_each_vertex) {
  const Graph graph;
  const Shared<std::uint32_t> offsets(runtime_, graph.offsets);
  const Shared<std::uint32_t> targets(runtime_, graph.targets);
  const Shared<std::uint32_t> depths(runtime_, Graph::vertices);
  const Shared<std::uint32_t> reached(runtime_, 1);
  depths.get()[0] = 1;
  std::uint32_t depth = 0;
  do {
    ASSERT_LT(++depth, Graph::vertices);
    *reached.get() = 0;
    launch(BfsKernel{
        {offsets.get(), targets.get(), Graph::vertices}, depths.get(), depth, reached.get()});
  } while (*reached.get() != 0);
  EXPECT_EQ(depths.all(), graph.distances(std::vector<std::uint32_t>(graph.targets.size(), 1)));
}

TEST_F(GeneratorKernels, sssp_finds_the_shortest_ways) {
  const Graph graph;
  const Shared<std::uint32_t> offsets(runtime_, graph.offsets);
  const Shared<std::uint32_t> targets(runtime_, graph.targets);
  const Shared<std::uint32_t> weights(runtime_, graph.weights);
  const Shared<std::uint32_t> distances(runtime_, Graph::vertices);
  const Shared<std::uint32_t> before(runtime_, Graph::vertices);
  const Shared<std::uint32_t> listed(runtime_, Graph::vertices);
  const Shared<std::uint32_t> even(runtime_, Graph::vertices);
  const Shared<std::uint32_t> odd(runtime_, Graph::vertices);
  const Shared<std::uint32_t> next_count(runtime_, 1);
  distances.get()[0] = 1;
  std::uint32_t count = 1;  // The first list, `odd`, has vertex 0.
  for (std::uint32_t round = 1; count != 0; ++round) {
    ASSERT_LT(round, 10 * Graph::vertices);
    *next_count.get() = 0;
    std::uint32_t* const now = (round % 2 == 1 ? odd : even).get();
    std::uint32_t* const next = (round % 2 == 1 ? even : odd).get();
    launch(SsspSnapshotKernel{distances.get(), now, count, before.get()});
    launch(SsspKernel{.graph = {offsets.get(), targets.get(), Graph::vertices},
                      .weights = weights.get(),
                      .distances = distances.get(),
                      .before = before.get(),
                      .listed = listed.get(),
                      .now = now,
                      .now_count = count,
                      .next = {next, next_count.get()},
                      .round = round});
    count = *next_count.get();
  }
  EXPECT_EQ(distances.all(), graph.distances(graph.weights));
}

TEST_F(GeneratorKernels, spmv_multiplies_by_a_vector) {
  constexpr std::uint32_t rows = 150;
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  std::vector<double> x(rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    x[row] = static_cast<double>(row * 37 % 1001) - 500;
    for (std::uint32_t entry = 0; entry < 1 + row % 9; ++entry) {
      columns.push_back((row * 11 + entry * 17) % rows);
      values.push_back(static_cast<double>((row + entry * 5) % 17) - 8);
    }
    offsets.push_back(static_cast<std::uint32_t>(columns.size()));
  }
  std::vector<double> right(rows, 0);
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t at = offsets[row]; at < offsets[row + 1]; ++at) {
      right[row] += values[at] * x[columns[at]];
    }
  }
  const Shared<std::uint32_t> shared_offsets(runtime_, offsets);
  const Shared<std::uint32_t> shared_columns(runtime_, columns);
  const Shared<double> shared_values(runtime_, values);
  const Shared<double> shared_x(runtime_, x);
  const Shared<double> y(runtime_, rows);
  launch(SpmvKernel{shared_offsets.get(), shared_columns.get(), shared_values.get(), shared_x.get(),
                    y.get(), rows});
  EXPECT_EQ(y.all(), right);  // Whole numbers: exact.
}

TEST_F(GeneratorKernels, files_writes_records_and_reads_them_back) {
  constexpr std::uint32_t files = 3;
  std::vector<FilePath> paths(files);
  std::vector<FileRecord> records(std::size_t{files} * file_records);
  std::vector<std::int64_t> right;
  std::uint64_t next = 0;
  for (FileRecord& record : records) {
    for (std::uint64_t& word : record.words) word = (next += 0x9e3779b97f4a7c15ull) >> 32;
    right.push_back(static_cast<std::int64_t>(sum_of(record)));
  }
  for (std::uint32_t file = 0; file < files; ++file) {
    const std::string path =
        testing::TempDir() + "k2k_files_" + std::to_string(::getpid()) + "_" + std::to_string(file);
    ASSERT_LT(path.size(), path_bytes);
    std::memcpy(paths[file].text, path.c_str(), path.size() + 1);
  }
  const Shared<FilePath> shared_paths(runtime_, paths);
  const Shared<FileRecord> shared_records(runtime_, records);
  const Shared<std::int64_t> sums(runtime_, records.size());
  launch(FilesKernel{shared_paths.get(), shared_records.get(), sums.get(), files});
  for (const FilePath& path : paths) EXPECT_EQ(::unlink(path.text), 0) << path.text;
  EXPECT_EQ(sums.all(), right);
}

std::atomic<std::uint64_t> signals_taken{0};
std::atomic<std::uint64_t> signals_sum{0};

TEST_F(GeneratorKernels, signals_reach_the_process_with_their_values) {
  constexpr std::uint64_t count = 100;
  const int number = SIGRTMAX - 2;
  struct sigaction taking{};
  taking.sa_flags = SA_SIGINFO | SA_RESTART;
  taking.sa_sigaction = [](int, siginfo_t* info, void*) {
    signals_sum.fetch_add(reinterpret_cast<std::uint64_t>(info->si_value.sival_ptr));
    signals_taken.fetch_add(1);
  };
  struct sigaction before{};
  ASSERT_EQ(::sigaction(number, &taking, &before), 0);
  std::vector<std::uint64_t> values(count);
  std::uint64_t sum = 0;
  for (std::uint64_t at = 0; at < count; ++at) sum += values[at] = 1000 * at + 1;
  const Shared<std::uint64_t> shared_values(runtime_, values);
  const Shared<std::int32_t> answers(runtime_, count);
  launch(SignalsKernel{shared_values.get(), answers.get(), count, ::getpid(), number, 1000});
  EXPECT_EQ(answers.all(), std::vector<std::int32_t>(count, 0));
  for (int wait_ms = 0; signals_taken.load() < count && wait_ms < 5000; ++wait_ms) ::usleep(1000);
  EXPECT_EQ(signals_taken.load(), count);
  EXPECT_EQ(signals_sum.load(), sum);
  ::sigaction(number, &before, nullptr);
}

// The heap's chunks are mappings: on a device that cannot reach them, each allocation fails.
TEST_F(GeneratorKernels, heap_allocates_what_the_device_can_reach) {
  constexpr std::uint32_t rounds = 6;
  constexpr std::size_t blocks = std::size_t{2} * 32 * rounds;
  std::vector<std::uint32_t> words(blocks);
  for (std::size_t block = 0; block < blocks; ++block) words[block] = block * 5 % 40;
  const Shared<std::uint32_t> sizes(runtime_, words);
  const Shared<std::uint64_t> sums(runtime_, blocks);
  const Shared<std::uint64_t> left(runtime_, 2);
  launch(HeapKernel{sizes.get(), sums.get(), rounds, left.get()});
  constexpr std::uint64_t none_mapped = std::uint64_t{1} << 63;
  const bool mapped = left.get()[0] != none_mapped;
  std::vector<std::uint64_t> right(blocks, 0);
  for (std::size_t block = 0; mapped && block < blocks; ++block) {
    for (std::uint32_t word = 0; word < words[block]; ++word) {
      right[block] += heap_word(block, word) ^ word;
    }
  }
  EXPECT_EQ(sums.all(), right);
  EXPECT_EQ(left.all(), std::vector<std::uint64_t>(2, mapped ? 0 : none_mapped));
}

TEST_F(GeneratorKernels, pages_are_asked_for_their_nodes_and_summed) {
  constexpr std::uint32_t batches = 2;
  constexpr std::size_t pages = std::size_t{batches} * pages_a_call;
  constexpr std::size_t words_a_page = page_bytes / sizeof(std::uint64_t);
  std::vector<std::uint64_t> data(pages * words_a_page);
  for (std::size_t word = 0; word < data.size(); ++word) data[word] = word * 3 + 1;
  const Shared<std::uint64_t> memory(runtime_, data);
  std::vector<PageBatch> asked(batches);
  std::vector<std::uint64_t> right(pages, 0);
  for (std::size_t page = 0; page < pages; ++page) {
    asked[page / pages_a_call].pages[page % pages_a_call] = memory.get() + page * words_a_page;
    for (std::size_t word = 0; word < words_a_page; ++word) {
      right[page] += data[page * words_a_page + word];
    }
  }
  const Shared<PageBatch> shared_batches(runtime_, asked);
  const Shared<std::uint64_t> sums(runtime_, pages);
  launch(PagesKernel{shared_batches.get(), sums.get(), batches, false});
  EXPECT_EQ(sums.all(), right);
  for (const PageBatch& batch : shared_batches.all()) {
    if (batch.answers[0] == -ENOSYS) continue;  // A Linux without NUMA.
    EXPECT_EQ(batch.answers[0], 0);
    EXPECT_EQ(batch.answers[2], 0);
    EXPECT_TRUE(std::equal(batch.before, batch.before + pages_a_call, batch.after));
  }
}

}  // namespace
}  // namespace k2k::conformance
