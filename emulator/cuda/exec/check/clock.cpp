#include "emulator/cuda/exec/check/clock.hpp"

#include <algorithm>
#include <array>

namespace k2k::emulator::exec::check {

namespace {

constexpr std::uint32_t branch_bits = 4;
constexpr std::uint64_t branches = 1u << branch_bits;

std::uint64_t branch_at(std::uint64_t lane, std::uint32_t level) {
  return lane >> (branch_bits * level) & (branches - 1);
}

}  // namespace

struct Clock::Leaf {
  std::array<Time, branches> times{};
};
struct Clock::Inner {
  std::array<Node, branches> below;
};

std::uint32_t levels_for(std::uint64_t lanes) {
  std::uint32_t levels = 1;
  for (std::uint64_t left = (lanes - 1) >> branch_bits; left != 0; left >>= branch_bits) ++levels;
  return levels;
}

std::uint64_t Clock::ended() const { return data_ == nullptr ? 0 : data_->ended; }

Time Clock::of(std::uint32_t grid, std::uint64_t lane) const {
  if (data_ == nullptr) return 0;
  for (const Part& part : data_->parts) {
    if (part.grid != grid) continue;
    const void* node = part.root.get();
    for (std::uint32_t level = part.levels - 1; level != 0 && node != nullptr; --level) {
      node = static_cast<const Inner*>(node)->below[branch_at(lane, level)].get();
    }
    return node == nullptr ? 0 : static_cast<const Leaf*>(node)->times[branch_at(lane, 0)];
  }
  return 0;
}

Clock::Node Clock::changed(const Node& node, std::uint32_t level, Iterator begin, Iterator end) {
  if (level == 0) {
    auto made = node == nullptr ? std::make_shared<Leaf>()
                                : std::make_shared<Leaf>(*static_cast<const Leaf*>(node.get()));
    for (auto at = begin; at != end; ++at) {
      Time& time = made->times[branch_at(at->first, 0)];
      time = std::max(time, at->second);
    }
    return made;
  }
  auto made = node == nullptr ? std::make_shared<Inner>()
                              : std::make_shared<Inner>(*static_cast<const Inner*>(node.get()));
  while (begin != end) {
    const std::uint64_t branch = branch_at(begin->first, level);
    const auto next = std::find_if(
        begin, end, [&](const auto& of) { return branch_at(of.first, level) != branch; });
    Node& below = made->below[branch];
    below = changed(below, level - 1, begin, next);
    begin = next;
  }
  return made;
}

Clock Clock::with(const LaneKey& key, Time time) const {
  return with(key, Times{{key.lane, time}});
}

Clock Clock::with(const LaneKey& grid, const Times& times) const {
  auto made = data_ == nullptr ? std::make_shared<Data>() : std::make_shared<Data>(*data_);
  auto part =
      std::lower_bound(made->parts.begin(), made->parts.end(), grid.grid,
                       [](const Part& of, std::uint32_t number) { return of.grid < number; });
  if (part == made->parts.end() || part->grid != grid.grid) {
    part = made->parts.insert(part, {grid.grid, grid.levels, nullptr});
  }
  part->root = changed(part->root, part->levels - 1, times.begin(), times.end());
  Clock clock;
  clock.data_ = std::move(made);
  return clock;
}

Clock Clock::with_end(std::uint32_t grid, std::uint64_t ended) const {
  auto made = data_ == nullptr ? std::make_shared<Data>() : std::make_shared<Data>(*data_);
  made->ended = std::max(made->ended, ended);
  std::erase_if(made->parts, [&](const Part& part) { return part.grid == grid; });
  Clock clock;
  clock.data_ = std::move(made);
  return clock;
}

Clock::Node Clock::joined(const Node& a, const Node& b, std::uint32_t level) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr) return b;
  bool is_a = true;
  bool is_b = true;
  if (level == 0) {
    const auto& of_a = static_cast<const Leaf*>(a.get())->times;
    const auto& of_b = static_cast<const Leaf*>(b.get())->times;
    Leaf made;
    for (std::size_t at = 0; at < branches; ++at) {
      made.times[at] = std::max(of_a[at], of_b[at]);
      is_a = is_a && made.times[at] == of_a[at];
      is_b = is_b && made.times[at] == of_b[at];
    }
    if (is_a || is_b) return is_a ? a : b;
    return std::make_shared<Leaf>(made);
  }
  const auto& of_a = static_cast<const Inner*>(a.get())->below;
  const auto& of_b = static_cast<const Inner*>(b.get())->below;
  Inner made;
  for (std::size_t at = 0; at < branches; ++at) {
    made.below[at] = joined(of_a[at], of_b[at], level - 1);
    is_a = is_a && made.below[at] == of_a[at];
    is_b = is_b && made.below[at] == of_b[at];
  }
  if (is_a || is_b) return is_a ? a : b;
  return std::make_shared<Inner>(std::move(made));
}

void Clock::join(const Clock& other) {
  if (data_ == other.data_ || other.data_ == nullptr) return;
  if (data_ == nullptr) {
    data_ = other.data_;
    return;
  }
  const Data& a = *data_;
  const Data& b = *other.data_;
  Data made;
  made.ended = std::max(a.ended, b.ended);
  bool is_a = made.ended == a.ended;
  bool is_b = made.ended == b.ended;
  auto in_a = a.parts.begin();
  auto in_b = b.parts.begin();
  while (in_a != a.parts.end() || in_b != b.parts.end()) {
    if (in_b == b.parts.end() || (in_a != a.parts.end() && in_a->grid < in_b->grid)) {
      made.parts.push_back(*in_a++);
      is_b = false;
    } else if (in_a == a.parts.end() || in_b->grid < in_a->grid) {
      made.parts.push_back(*in_b++);
      is_a = false;
    } else {
      const Part& part = *in_a++;
      const Part& same = *in_b++;
      made.parts.push_back({part.grid, part.levels, joined(part.root, same.root, part.levels - 1)});
      is_a = is_a && made.parts.back().root == part.root;
      is_b = is_b && made.parts.back().root == same.root;
    }
  }
  if (is_a) return;
  data_ = is_b ? other.data_ : std::make_shared<const Data>(std::move(made));
}

}  // namespace k2k::emulator::exec::check
