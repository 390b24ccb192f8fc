// The steps by another method: a map of roots with values of their own, each with the values of now
// and of next; a root has no place for the level that it is not at. No function of mesh.hpp but
// those that define the problem: where the sphere is, and what the first values are.

#include <array>
#include <map>

#include "apps/miniamr/amr.hpp"

namespace k2k::miniamr {

namespace {

struct SerialRoot {
  bool fine = false;
  std::vector<Value> now;
  std::vector<Value> next;

  [[nodiscard]] std::uint32_t cells_a_side() const { return fine ? 2 * side : side; }
  [[nodiscard]] std::size_t place(std::uint32_t x, std::uint32_t y, std::uint32_t z) const {
    return (std::size_t{z} * cells_a_side() + y) * cells_a_side() + x;
  }
};

class SerialMesh {
 public:
  explicit SerialMesh(std::uint32_t count) : count_(count) {
    for (std::uint32_t root = 0; root < count * count * count; ++root) {
      SerialRoot& made = roots_[root];
      made.now.resize(block_cells);
      each_cell(root, [&](std::uint32_t x, std::uint32_t y, std::uint32_t z, std::size_t place) {
        made.now[place] = first_value({x, y, z});
      });
    }
  }

  void change(std::uint32_t root, bool fine) {
    SerialRoot& old = roots_[root];
    if (old.fine == fine) return;
    SerialRoot made{fine, {}, {}};
    const std::uint32_t cells = made.cells_a_side();
    made.now.resize(std::size_t{cells} * cells * cells);
    for (std::uint32_t z = 0; z < cells; ++z) {
      for (std::uint32_t y = 0; y < cells; ++y) {
        for (std::uint32_t x = 0; x < cells; ++x) {
          made.now[made.place(x, y, z)] =
              fine ? old.now[old.place(x / 2, y / 2, z / 2)] : mean(old, 2 * x, 2 * y, 2 * z);
        }
      }
    }
    old = std::move(made);
  }

  void step(std::uint32_t number) {
    for (auto& [root, one] : roots_) {
      one.next.resize(one.now.size());
      const bool fine = one.fine;
      SerialRoot& to = one;
      each_cell(root, [&](std::uint32_t x, std::uint32_t y, std::uint32_t z, std::size_t place) {
        Value sum = 2 * to.now[place];
        constexpr std::array<std::array<int, 3>, 6> around = {
            {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}}};
        for (const auto& [dx, dy, dz] : around) sum += look(fine, x, y, z, dx, dy, dz);
        to.next[place] = (sum + ((x ^ y ^ z ^ number) & 7)) / 8;
      });
    }
    for (auto& [root, one] : roots_) one.now.swap(one.next);
  }

  std::uint64_t checksum() {
    std::uint64_t sum = 0;
    for (const auto& [root, one] : roots_) {
      for (const Value value : one.now) sum = (sum ^ value) * 1099511628211u;
    }
    return sum;
  }

 private:
  // x, y, z of the whole mesh at the root's level; `place` in its values.
  template <class Each>
  void each_cell(std::uint32_t root, const Each& each) {
    const SerialRoot& one = roots_[root];
    const std::uint32_t cells = one.cells_a_side();
    std::size_t place = 0;
    for (std::uint32_t z = 0; z < cells; ++z) {
      for (std::uint32_t y = 0; y < cells; ++y) {
        for (std::uint32_t x = 0; x < cells; ++x) {
          each(root % count_ * cells + x, root / count_ % count_ * cells + y,
               root / count_ / count_ * cells + z, place++);
        }
      }
    }
  }

  [[nodiscard]] static Value mean(const SerialRoot& fine, std::uint32_t x, std::uint32_t y,
                                  std::uint32_t z) {
    Value sum = 0;
    for (std::uint32_t dz = 0; dz < 2; ++dz) {
      for (std::uint32_t dy = 0; dy < 2; ++dy) {
        for (std::uint32_t dx = 0; dx < 2; ++dx)
          sum += fine.now[fine.place(x + dx, y + dy, z + dz)];
      }
    }
    return sum / 8;
  }

  Value look(bool fine, std::uint32_t x, std::uint32_t y, std::uint32_t z, int dx, int dy, int dz) {
    const std::uint32_t cells = fine ? 2 * side : side;
    const auto moved = [&](std::uint32_t at, int by) {
      const std::int64_t to = std::int64_t{at} + by;
      return to < 0 || to >= std::int64_t{count_} * cells ? at : static_cast<std::uint32_t>(to);
    };
    x = moved(x, dx);
    y = moved(y, dy);
    z = moved(z, dz);
    const SerialRoot& of = roots_[(z / cells * count_ + y / cells) * count_ + x / cells];
    const std::uint32_t in_x = x % cells;
    const std::uint32_t in_y = y % cells;
    const std::uint32_t in_z = z % cells;
    if (of.fine == fine) return of.now[of.place(in_x, in_y, in_z)];
    if (of.fine) return mean(of, 2 * in_x, 2 * in_y, 2 * in_z);
    return of.now[of.place(in_x / 2, in_y / 2, in_z / 2)];
  }

  std::uint32_t count_;
  std::map<std::uint32_t, SerialRoot> roots_;
};

}  // namespace

std::uint64_t serial_checksum(const Settings& settings) {
  SerialMesh mesh(settings.roots_a_side);
  const std::uint32_t roots = settings.roots_a_side * settings.roots_a_side * settings.roots_a_side;
  for (std::uint32_t step = 0; step < settings.steps; ++step) {
    for (std::uint32_t root = 0; root < roots; ++root) {
      mesh.change(root, wants_fine(settings.roots_a_side, root, step, settings.period));
    }
    mesh.step(step);
  }
  return mesh.checksum();
}

}  // namespace k2k::miniamr
