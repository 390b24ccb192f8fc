#include "labs/interference/generators/pages.hpp"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"
#include "labs/interference/generators/nodes.hpp"
#include "labs/interference/generators/output.hpp"

namespace k2k::labs::generators {

namespace {

constexpr std::size_t words_a_page = page_bytes / sizeof(std::uint64_t);

// The node of a page, from another system call than move_pages; or a negative errno.
double node_of(const void* page) {
  int node = -1;
  const long done =
      ::syscall(SYS_get_mempolicy, &node, nullptr, 0, page, MPOL_F_NODE | MPOL_F_ADDR);
  return done == 0 ? node : -errno;
}

class Pages : public Workload {
 public:
  Pages(std::vector<int> nodes, Input<std::uint64_t> input, Output<PageBatch> batches,
        Output<std::uint64_t> sums)
      : nodes_(std::move(nodes)),
        input_(std::move(input)),
        batches_(std::move(batches)),
        sums_(std::move(sums)) {
    for (std::size_t page = 0; page < input_.pages(); ++page) {
      PageBatch& batch = batches_[page / pages_a_call];
      batch.pages[page % pages_a_call] = input_.data() + page * words_a_page;
      batch.targets[page % pages_a_call] = nodes_[page % nodes_.size()];
    }
  }

  Status run(Runtime& runtime) override {
    reaches_pages_ = runtime.device().reaches_host_pages;
    if (!reaches_pages_) return {};
    const PagesKernel kernel{batches_.data(), sums_.data(),
                             static_cast<std::uint32_t>(batches_.size()), moves()};
    return launch_kernel(runtime, shape_on(runtime), kernel, "pages");
  }

  // The calls' answers; for each page, whether it was on a node, its node now, and its content.
  std::vector<double> answers() override {
    std::vector<double> all;
    for (std::size_t page = 0; page < sums_.size(); ++page) {
      const PageBatch& batch = batches_[page / pages_a_call];
      const std::size_t place = page % pages_a_call;
      if (place == 0) all.insert(all.end(), batch.answers, batch.answers + 3);
      all.push_back(batch.before[place] < 0 ? batch.before[place] : 0);
      all.push_back(batch.after[place]);
      all.push_back(static_cast<double>(sums_[page]));
    }
    return all;
  }
  std::vector<double> reference() override {
    std::vector<double> all;
    for (std::size_t page = 0; page < sums_.size(); ++page) {
      if (page % pages_a_call == 0) all.insert(all.end(), 3, 0);
      std::uint64_t sum = 0;
      for (std::size_t word = 0; word < words_a_page; ++word) {
        sum += input_[page * words_a_page + word];
      }
      all.push_back(0);
      all.push_back(moves() ? nodes_[page % nodes_.size()]
                            : node_of(input_.data() + page * words_a_page));
      all.push_back(static_cast<double>(sum));
    }
    return all;
  }

  [[nodiscard]] std::string skipped() const override {
    if (!reaches_pages_) {
      return "the device's pages are those of its driver, which Linux cannot move; set --backend "
             "cpu";
    }
    const std::int64_t answer = batches_[0].answers[0];
    if (answer != -EPERM && answer != -ENOSYS) return {};
    return fmt::format(
        "move_pages(2) answers {}; allow it in the container's seccomp profile, or set "
        "server.policy = \"any\"",
        strerror(static_cast<int>(-answer)));
  }
  [[nodiscard]] std::string note() const override {
    return moves() ? fmt::format("moved between {} nodes", nodes_.size())
                   : "one NUMA node: asked for the node of each page, moving skipped";
  }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {input_.region()};
  }

 private:
  [[nodiscard]] bool moves() const { return nodes_.size() > 1; }

  std::vector<int> nodes_;
  Input<std::uint64_t> input_;
  Output<PageBatch> batches_;
  Output<std::uint64_t> sums_;
  bool reaches_pages_ = true;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_pages_on(Runtime& runtime, const Settings& settings,
                                                const std::vector<int>& nodes) {
  const auto batches = settings.by_scale<std::size_t>(32, 1'024, 4'096);
  std::vector<std::uint64_t> words(batches * pages_a_call * words_a_page);
  for (std::size_t word = 0; word < words.size(); ++word)
    words[word] = draw(settings.seed, word) >> 32;
  auto input = Input<std::uint64_t>::create(runtime, std::move(words), "pages");
  if (!input) return input.error();
  auto of_calls = Output<PageBatch>::create(runtime, batches);
  if (!of_calls) return of_calls.error();
  auto sums = Output<std::uint64_t>::create(runtime, input->pages());
  if (!sums) return sums.error();
  return Result<std::unique_ptr<Workload>>(std::make_unique<Pages>(
      nodes, std::move(input.value()), std::move(of_calls.value()), std::move(sums.value())));
}

Result<std::unique_ptr<Workload>> make_pages(Runtime& runtime, const Settings& settings) {
  return make_pages_on(runtime, settings, memory_nodes());
}

}  // namespace k2k::labs::generators
