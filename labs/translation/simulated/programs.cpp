#include "labs/translation/simulated/programs.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/contract.hpp"
#include "labs/interference/generators/counter_random.hpp"

namespace k2k::labs::translation {

namespace {

using generators::draw;

constexpr std::uint32_t lanes = thesis::lanes;
constexpr std::uint64_t gib = std::uint64_t{1} << 30;

// Tables begin at addresses far apart, each at a boundary of the largest page.
constexpr std::uint64_t table(std::uint64_t number) { return number << 40; }

// A number in [0, bound), also beyond 32 bits.
std::uint64_t below(std::uint64_t bound, std::uint64_t number) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(number) * bound) >> 64);
}

// --- bpt: 15 million keys are searched in a B+tree of 20 GB. A wavefront searches one key: its
// lanes compare the keys of a node side by side, then one reads the child.

constexpr std::uint64_t bpt_node_bytes = 4'096;
constexpr std::uint64_t bpt_fanout = 255;
constexpr std::uint64_t bpt_leaves = 20 * gib / bpt_node_bytes;
constexpr std::uint64_t bpt_queries = 15'000'000;

WaveTrace bpt(const Work& work) {
  WaveTrace trace;
  const std::uint64_t keys = bpt_leaves * bpt_fanout;
  const std::uint32_t queries = 4'000 * work.part;
  for (std::uint32_t query = 0; query < queries; ++query) {
    // A sorted list goes through the keys step by step.
    const std::uint64_t key = work.sorted ? query * (keys / bpt_queries) +
                                                below(keys / bpt_queries, draw(work.seed, query))
                                          : below(keys, draw(work.seed, query));
    trace.begin_wave();
    std::uint64_t level = 4;
    std::uint64_t below_node = bpt_fanout * bpt_fanout * bpt_fanout * bpt_fanout;
    for (; level > 0; --level, below_node /= bpt_fanout) {
      const std::uint64_t node = table(level) + key / below_node * bpt_node_bytes;
      for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
        const std::uint32_t count = chunk == 3 ? bpt_fanout - 3 * lanes : lanes;
        trace.access(count, 8, 8, chunk == 3,
                     [&](std::uint32_t lane) { return node + 8 + (chunk * lanes + lane) * 8; });
      }
      trace.access(1, 8, 24, true, [&](std::uint32_t) {
        return node + 8 + bpt_fanout * 8 + key / (below_node / bpt_fanout) % bpt_fanout * 8;
      });
    }
  }
  return trace;
}

// --- xsbench: the unionised energy grid of the large problem, 355 nuclides of 11,303 points. A
// work-item makes one lookup: a binary search, then two grid points of each nuclide.

constexpr std::uint64_t xs_nuclides = 355;
constexpr std::uint64_t xs_points = 11'303;
constexpr std::uint64_t xs_energies = xs_nuclides * xs_points;
constexpr std::uint64_t xs_lookups = 15'000'000;
constexpr std::uint64_t xs_point_bytes = 48;

WaveTrace xsbench(const Work& work) {
  // Nuclides of the twelve materials and the per cent of lookups up to each (Hoogenboom-Martin).
  constexpr std::array<std::uint32_t, 12> sizes = {321, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9};
  constexpr std::array<std::uint32_t, 12> until = {14, 19, 46, 60, 75, 81, 88, 94, 95, 97, 99, 100};
  WaveTrace trace;
  for (std::uint32_t wave = 0; wave < 80 * work.part; ++wave) {
    std::array<std::uint64_t, lanes> energy{};
    std::array<std::uint32_t, lanes> nuclides{};
    std::array<std::uint32_t, lanes> first{};
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const std::uint64_t lookup = std::uint64_t{wave} * lanes + lane;
      energy[lane] = work.sorted ? lookup * xs_energies / xs_lookups
                                 : below(xs_energies, draw(work.seed, 2 * lookup));
      const std::uint64_t percent = below(100, draw(work.seed, 2 * lookup + 1));
      std::uint32_t material = 0;
      while (until[material] <= percent) ++material;
      nuclides[lane] = sizes[material];
      first[lane] = material * 29;
    }
    trace.begin_wave();
    std::array<std::uint64_t, lanes> low{};
    std::array<std::uint64_t, lanes> high{};
    high.fill(xs_energies);
    while (high[0] - low[0] > 1) {
      const auto middle = [&](std::uint32_t lane) {
        return low[lane] + (high[lane] - low[lane]) / 2;
      };
      trace.access(lanes, 8, 6, true,
                   [&](std::uint32_t lane) { return table(1) + middle(lane) * 8; });
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        if (high[lane] - low[lane] <= 1) continue;
        (middle(lane) <= energy[lane] ? low : high)[lane] = middle(lane);
      }
    }
    const std::uint32_t longest = *std::max_element(nuclides.begin(), nuclides.end());
    for (std::uint32_t step = 0; step < longest; ++step) {
      std::array<std::uint32_t, lanes> active{};
      std::uint32_t count = 0;
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        if (step < nuclides[lane]) active[count++] = lane;
      }
      const auto nuclide = [&](std::uint32_t lane) { return (first[lane] + step) % xs_nuclides; };
      trace.access(count, 4, 4, true, [&](std::uint32_t at) {
        return table(2) + (energy[active[at]] * xs_nuclides + nuclide(active[at])) * 4;
      });
      for (std::uint32_t half = 0; half < 2; ++half) {
        trace.access(count, 48, 20, half == 1, [&](std::uint32_t at) {
          const std::uint64_t point =
              std::min(energy[active[at]] / xs_nuclides, xs_points - 2) + half;
          return table(3) + (nuclide(active[at]) * xs_points + point) * xs_point_bytes;
        });
      }
    }
  }
  return trace;
}

// --- miniAMR: a 7-point stencil over one variable of each block. A block has 10 cells a side and a
// layer around them, 40 variables; a work-item takes a cell.

constexpr std::uint64_t amr_side = 12;
constexpr std::uint64_t amr_cells = 10;
constexpr std::uint64_t amr_variables = 40;

WaveTrace miniamr(const Work& work) {
  WaveTrace trace;
  const std::uint32_t cells = amr_cells * amr_cells * amr_cells;
  for (std::uint32_t block = 0; block < 300 * work.part; ++block) {
    const std::uint64_t base = amr_side * amr_side * amr_side * 8 * amr_variables * block;
    for (std::uint32_t begin = 0; begin < cells; begin += lanes) {
      const std::uint32_t count = std::min(lanes, cells - begin);
      const auto place = [&](std::uint32_t lane) {
        const std::uint32_t cell = begin + lane;
        const std::uint64_t x = cell % amr_cells + 1;
        const std::uint64_t y = cell / amr_cells % amr_cells + 1;
        const std::uint64_t z = cell / (amr_cells * amr_cells) + 1;
        return (z * amr_side + y) * amr_side + x;
      };
      trace.begin_wave();
      constexpr std::int64_t side = amr_side;
      constexpr std::array<std::int64_t, 7> around = {0,    -1,           1,          -side,
                                                      side, -side * side, side * side};
      for (std::size_t at = 0; at < around.size(); ++at) {
        trace.access(count, 8, 5, at + 1 == around.size(), [&](std::uint32_t lane) {
          return table(1) + base + (place(lane) + static_cast<std::uint64_t>(around[at])) * 8;
        });
      }
      trace.access(count, 8, 10, false, [&](std::uint32_t lane) {
        return table(2) + (std::uint64_t{block} * cells + begin + lane) * 8;
      });
    }
  }
  return trace;
}

// --- CoMD: Lennard-Jones forces by link cells of 64 places, 16 of them taken; 100 cells a side. A
// wavefront takes a cell: its lanes the cell's atoms, against each atom of 27 cells.

constexpr std::uint64_t comd_side = 100;
constexpr std::uint32_t comd_atoms = 16;
constexpr std::uint64_t comd_cell_bytes = 64 * 24;

WaveTrace comd(const Work& work) {
  WaveTrace trace;
  for (std::uint64_t at = 0; at < 500 * work.part; ++at) {
    // Away from the border: begin in the middle of a plane.
    const std::uint64_t cell = (comd_side / 2 * comd_side + at / (comd_side - 2) + 1) * comd_side +
                               at % (comd_side - 2) + 1;
    const auto atom = [&](std::uint64_t of, std::uint64_t number) {
      return table(1) + of * comd_cell_bytes + number * 24;
    };
    trace.begin_wave();
    trace.access(comd_atoms, 24, 10, true, [&](std::uint32_t lane) { return atom(cell, lane); });
    for (std::uint64_t near = 0; near < 27; ++near) {
      const std::uint64_t other = cell + (near / 9 - 1) * comd_side * comd_side +
                                  (near / 3 % 3 - 1) * comd_side + near % 3 - 1;
      trace.access(1, 4, 4, true, [&](std::uint32_t) { return table(2) + other * 4; });
      for (std::uint32_t number = 0; number < comd_atoms; ++number) {
        trace.access(1, 24, 12, number + 1 == comd_atoms,
                     [&](std::uint32_t) { return atom(other, number); });
      }
    }
    trace.access(comd_atoms, 24, 4, false,
                 [&](std::uint32_t lane) { return table(3) + cell * comd_cell_bytes + lane * 24; });
  }
  return trace;
}

// --- miniFE: the product of the sparse matrix with a vector, which takes most of the conjugate
// gradients' time. 200 nodes a side, 27 entries a row; values and columns come in contiguous
// chunks.

constexpr std::uint64_t fe_side = 200;
constexpr std::uint64_t fe_entries = 27;

WaveTrace minife(const Work& work) {
  WaveTrace trace;
  const std::uint64_t first_row = fe_side * fe_side * (fe_side / 2);
  for (std::uint64_t wave = 0; wave < 500 * work.part; ++wave) {
    const std::uint64_t row = first_row + wave * lanes;
    trace.begin_wave();
    for (std::uint64_t entry = 0; entry < fe_entries; ++entry) {
      const std::uint64_t at = row * fe_entries + entry * lanes;
      trace.access(lanes, 8, 4, false,
                   [&](std::uint32_t lane) { return table(1) + (at + lane) * 8; });
      trace.access(lanes, 4, 4, entry + 1 == fe_entries,
                   [&](std::uint32_t lane) { return table(2) + (at + lane) * 4; });
    }
    for (std::uint64_t entry = 0; entry < fe_entries; ++entry) {
      const std::uint64_t other =
          row + (entry / 9 - 1) * fe_side * fe_side + (entry / 3 % 3 - 1) * fe_side + entry % 3 - 1;
      trace.access(lanes, 8, 6, entry + 1 == fe_entries,
                   [&](std::uint32_t lane) { return table(3) + (other + lane) * 8; });
    }
    trace.access(lanes, 8, 4, false,
                 [&](std::uint32_t lane) { return table(4) + (row + lane) * 8; });
  }
  return trace;
}

// --- graph500: one bottom-up step of a breadth-first search, 2^24 vertices, 16 edges each. A
// wavefront takes edges in contiguous chunks into local memory, then asks for each vertex whether
// the frontier, a bitmap, has it.

constexpr std::uint64_t graph_vertices = 1 << 24;

WaveTrace graph500(const Work& work) {
  WaveTrace trace;
  for (std::uint64_t wave = 0; wave < 1'000 * work.part; ++wave) {
    trace.begin_wave();
    for (std::uint64_t chunk = 0; chunk < 16; ++chunk) {
      const std::uint64_t edge = (wave * 16 + chunk) * lanes;
      trace.access(lanes, 8, 6, chunk == 15,
                   [&](std::uint32_t lane) { return table(1) + (edge + lane) * 8; });
    }
    for (std::uint64_t chunk = 0; chunk < 16; ++chunk) {
      trace.access(lanes, 8, 12, chunk == 15, [&](std::uint32_t lane) {
        const std::uint64_t edge = (wave * 16 + chunk) * lanes + lane;
        // A Kronecker graph: each bit of a vertex is 0 with a probability of 0.57 + 0.19.
        std::uint64_t vertex = 0;
        const std::uint64_t bits = draw(work.seed, 2 * edge);
        const std::uint64_t more = draw(work.seed, 2 * edge + 1);
        for (std::uint32_t bit = 0; bit < 24; ++bit) {
          const std::uint64_t two = (bits >> (2 * bit)) & 3;
          vertex = vertex * 2 + (two == 0 && ((more >> bit) & 31) != 0 ? 1 : 0);
        }
        return table(2) + vertex / 64 * 8;
      });
    }
    trace.access(lanes, 4, 8, false, [&](std::uint32_t lane) {
      return table(3) + (wave * lanes + lane) % graph_vertices * 4;
    });
  }
  return trace;
}

}  // namespace

WaveTrace strided(std::uint32_t items, std::uint64_t stride, std::uint32_t accesses) {
  K2K_EXPECT(items >= 1 && items <= lanes);
  WaveTrace trace;
  trace.begin_wave();
  for (std::uint64_t at = 0; at < accesses; ++at) {
    trace.access(items, 4, 0, true,
                 [&](std::uint32_t lane) { return table(lane + 1) + at * stride; });
  }
  return trace;
}

const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
      {"bpt", 20, bpt},        {"comd", 3.1, comd},         {"miniamr", 2.2, miniamr},
      {"minife", 2.7, minife}, {"graph500", 2.1, graph500}, {"xsbench", 5.9, xsbench},
  };
  return all;
}

const Program& program_of(const char* name) {
  const auto found = std::find_if(programs().begin(), programs().end(), [&](const Program& one) {
    return std::strcmp(one.name, name) == 0;
  });
  K2K_EXPECT(found != programs().end());
  return *found;
}

}  // namespace k2k::labs::translation
