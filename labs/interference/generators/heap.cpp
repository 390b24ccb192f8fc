// Memory allocation from the device (HISS, table I): a work-group's heap, based on mmap and munmap
// calls of the group.

#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"
#include "labs/interference/generators/output.hpp"

namespace k2k::labs::generators {

namespace {

constexpr std::uint32_t words_max = 256;  // Per block: 2 KiB.

class Heap : public Workload {
 public:
  Heap(const LaunchShape& shape, std::uint32_t rounds, Input<std::uint32_t> words,
       Output<std::uint64_t> sums, Output<std::uint64_t> left)
      : shape_(shape),
        rounds_(rounds),
        words_(std::move(words)),
        sums_(std::move(sums)),
        left_(std::move(left)) {}

  Status run(Runtime& runtime) override {
    reaches_pages_ = runtime.device().reaches_host_pages;
    if (!reaches_pages_) return {};
    const HeapKernel kernel{words_.data(), sums_.data(), rounds_, left_.data()};
    return launch_kernel(runtime, shape_, kernel, "heap");
  }
  [[nodiscard]] std::string skipped() const override {
    if (reaches_pages_) return {};
    return "the device does not reach pages of mmap(2); set --backend cpu";
  }

  // The sum of every block before it was freed, and for each group whether all chunks were
  // unmapped.
  std::vector<double> answers() override {
    std::vector<double> all(sums_.begin(), sums_.end());
    for (const std::uint64_t left : left_) all.push_back(static_cast<double>(left));
    return all;
  }
  std::vector<double> reference() override {
    std::vector<double> all;
    for (std::size_t block = 0; block < words_.size(); ++block) {
      std::uint64_t sum = 0;
      for (std::uint32_t word = 0; word < words_[block]; ++word) {
        sum += heap_word(block, word) ^ word;
      }
      all.push_back(static_cast<double>(sum));
    }
    all.resize(all.size() + left_.size(), 0);
    return all;
  }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {words_.region()};
  }

 private:
  LaunchShape shape_;
  std::uint32_t rounds_;
  Input<std::uint32_t> words_;
  Output<std::uint64_t> sums_;
  Output<std::uint64_t> left_;
  bool reaches_pages_ = true;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_heap(Runtime& runtime, const Settings& settings) {
  const LaunchShape shape = shape_on(runtime);
  const auto rounds = settings.by_scale<std::uint32_t>(24, 1'024, 8'192);
  std::vector<std::uint32_t> words(std::size_t{shape.groups} * shape.group_items * rounds);
  for (std::size_t block = 0; block < words.size(); ++block) {
    const std::uint64_t chance = draw(settings.seed, block);
    words[block] = chance % 8 == 0 ? 0 : 1 + below(words_max, chance);
  }
  auto input = Input<std::uint32_t>::create(runtime, std::move(words), "heap sizes");
  if (!input) return input.error();
  auto sums = Output<std::uint64_t>::create(runtime, input->size());
  if (!sums) return sums.error();
  auto left = Output<std::uint64_t>::create(runtime, shape.groups, ~std::uint64_t{0});
  if (!left) return left.error();
  return Result<std::unique_ptr<Workload>>(std::make_unique<Heap>(
      shape, rounds, std::move(input.value()), std::move(sums.value()), std::move(left.value())));
}

}  // namespace k2k::labs::generators
