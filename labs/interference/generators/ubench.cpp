// HISS, section III, "ubench": an accelerator that makes requests continually, as future ones may.
// At most five seconds if a rate is given.

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/clock.hpp"
#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"
#include "labs/interference/generators/output.hpp"

namespace k2k::labs::generators {

namespace {

constexpr double seconds_most = 5;
constexpr double cycles_a_tick = 16;  // base/clock.hpp, stamp_at().

// An unnamed file with these words.
class WordFile {
 public:
  WordFile() = default;
  ~WordFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  WordFile(const WordFile&) = delete;
  WordFile& operator=(const WordFile&) = delete;

  Status write(const std::vector<std::uint64_t>& words) {
    const std::size_t bytes = words.size() * sizeof(words[0]);
    fd_ = ::memfd_create("k2k-ubench", MFD_CLOEXEC);
    const ssize_t written = fd_ < 0 ? -1 : ::pwrite(fd_, words.data(), bytes, 0);
    if (written == static_cast<ssize_t>(bytes)) return {};
    const int code = written < 0 ? errno : ENOSPC;
    return Error{code, fmt::format("cannot keep {} bytes in a memfd ({}); free memory or try a "
                                   "smaller --scale",
                                   bytes, strerror(code))};
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

class Ubench : public Workload {
 public:
  explicit Ubench(const Settings& settings) : settings_(settings) {
    auto accesses = settings.by_scale<std::uint64_t>(512, 16'384, 65'536);
    if (std::isfinite(settings.rate)) {
      const auto in_time = static_cast<std::uint64_t>(std::ceil(settings.rate * seconds_most));
      accesses = std::clamp(in_time, std::uint64_t{1}, accesses);
    }
    wanted_.resize(accesses);
    for (std::uint64_t access = 0; access < accesses; ++access) {
      wanted_[access] = draw(settings.seed, access) >> 11;  // Exact as a double.
    }
  }

  Status prepare(Runtime& runtime) {
    auto seen = Output<std::uint64_t>::create(runtime, wanted_.size(), ~std::uint64_t{0});
    if (!seen) return seen.error();
    seen_.emplace(std::move(seen.value()));
    if (settings_.per == Per::call) return file_.write(wanted_);
    std::vector<std::uint64_t> pages(wanted_.size() * UbenchKernel::words_a_page);
    for (std::size_t access = 0; access < wanted_.size(); ++access) {
      pages[access * UbenchKernel::words_a_page] = wanted_[access];
    }
    auto input = Input<std::uint64_t>::create(runtime, std::move(pages), "ubench");
    if (!input) return input.error();
    pages_.emplace(std::move(input.value()));
    return {};
  }

  Status run(Runtime& runtime) override {
    const bool paced = std::isfinite(settings_.rate);
    const UbenchKernel kernel{
        .data = pages_ ? pages_->data() : nullptr,
        .seen = seen_->data(),
        .accesses = wanted_.size(),
        .file = file_.fd(),
        .ticks_apart =
            paced ? 1e9 / (nanoseconds_per_cycle() * cycles_a_tick) / settings_.rate : 0};
    return launch_kernel(runtime, shape_on(runtime), kernel, "ubench");
  }

  std::vector<double> answers() override { return {seen_->begin(), seen_->end()}; }
  std::vector<double> reference() override { return {wanted_.begin(), wanted_.end()}; }
  [[nodiscard]] std::string note() const override {
    return std::isfinite(settings_.rate) ? fmt::format("offered {:g}/s", settings_.rate)
                                         : std::string();
  }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    if (!pages_) return {};
    return {pages_->region()};
  }

 private:
  Settings settings_;
  std::vector<std::uint64_t> wanted_;
  std::optional<Output<std::uint64_t>> seen_;
  std::optional<Input<std::uint64_t>> pages_;
  WordFile file_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_ubench(Runtime& runtime, const Settings& settings) {
  auto workload = std::make_unique<Ubench>(settings);
  if (Status status = workload->prepare(runtime); !status) return status.error();
  return Result<std::unique_ptr<Workload>>(std::move(workload));
}

}  // namespace k2k::labs::generators
