// Goal: a generated file has the lattice, the temperature and no momentum, equal for equal seeds; a
// file that is no file of atoms, or a wrong one, is refused with the place and the remedy.

#include "apps/comd/atom_file.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include "apps/comd/atoms_fixture.hpp"
#include "apps/comd/pair.hpp"

namespace k2k::comd {
namespace {

class AtomFileTest : public AtomsTest {
 protected:
  // The message of an open that is refused, without the path.
  [[nodiscard]] std::string open_refusal(const std::string& name) const {
    return InputTest::refusal(path(name), open_atoms(path(name)));
  }
  // The same of a file with a header that `change` makes wrong, and whose check fits.
  template <class Change>
  [[nodiscard]] std::string header_refusal(const Change& change) const {
    Atoms atoms = make_atoms({.unit_cells = 4});
    change(atoms.header);
    std::filesystem::remove(path("wrong"));
    EXPECT_TRUE(write_atoms(path("wrong"), atoms.header, atoms.atoms));
    return open_refusal("wrong");
  }
  void overwrite(const std::string& name, std::uint64_t at, const std::string& bytes) const {
    std::fstream file(path(name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << bytes;
  }
};

TEST_F(AtomFileTest, holds_what_was_written) {
  Atoms atoms = make_atoms({.unit_cells = 5, .constant = 1.7, .temperature = 0.5, .seed = 9});
  sort_by_cell(atoms);
  const AtomFile file = file_of(atoms);
  EXPECT_EQ(file.header.atoms, 500u);
  EXPECT_EQ(file.header.lattice, 1.7);
  EXPECT_EQ(file.header.temperature, 0.5);
  EXPECT_EQ(file.header.seed, 9u);
  EXPECT_EQ(file.header.sorted, 1u);
  EXPECT_EQ(file.box.cells[0], 3u);
  std::vector<Atom> read(500);
  ASSERT_TRUE(read_atoms(file, read.data()));
  for (std::size_t index = 0; index < read.size(); ++index) {
    EXPECT_EQ(read[index].id, atoms.atoms[index].id);
    EXPECT_EQ(read[index].place[2], atoms.atoms[index].place[2]);
    EXPECT_EQ(read[index].velocity[1], atoms.atoms[index].velocity[1]);
    EXPECT_EQ(wrong_with(file.box, 500, read[index]), Wrong::nothing);
  }
  EXPECT_EQ(write_atoms(path("atoms"), atoms.header, atoms.atoms).error().code, EEXIST);
}

TEST_F(AtomFileTest, is_refused_if_it_is_no_file_of_atoms) {
  EXPECT_EQ(open_refusal("nowhere"), "No such file or directory; name a file that --generate made");
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(open_refusal("folder"), "not a regular file; name a file that --generate made");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(open_refusal("pipe"), "not a regular file; name a file that --generate made");
  std::ofstream(path("short")) << "K2KCoMD\n";
  EXPECT_EQ(open_refusal("short"),
            "the file has 8 bytes, fewer than its header's 4096; make the file anew with "
            "--generate");
  std::ofstream(path("text")) << std::string(5000, 'x');
  EXPECT_EQ(open_refusal("text"),
            "no file of atoms, which begins with K2KCoMD; make one with --generate");
}

TEST_F(AtomFileTest, is_refused_if_its_header_is_wrong) {
  EXPECT_EQ(header_refusal([](Header& header) { header.version = 2; }),
            "version 2 of the format with 64 bytes an atom, but this program reads version 1 with "
            "64; make the file anew with --generate");
  EXPECT_EQ(header_refusal([](Header& header) { header.check = 5; }),
            "the header is damaged: its check does not fit; make the file anew with --generate");
  EXPECT_EQ(header_refusal([](Header& header) { header.side[1] = 4.9; }),
            "the cutoff of 2.5 is larger than half the box's side of 4.9; make a larger file with "
            "--unit-cells");
  for (const double side : {0.0, -6.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::string told = header_refusal([&](Header& header) { header.side[2] = side; });
    EXPECT_EQ(told.rfind("a side of the box is ", 0), 0u) << told;
  }
  EXPECT_EQ(header_refusal([](Header& header) { header.side[0] = 5; }), "no error")
      << "half the box is the cutoff";
}

TEST_F(AtomFileTest, is_refused_if_its_size_does_not_fit_its_atoms) {
  Atoms none = make_atoms({.unit_cells = 4});
  none.atoms.clear();
  ASSERT_TRUE(write_atoms(path("none"), none.header, none.atoms));
  EXPECT_EQ(open_refusal("none"), "no atoms; make the file anew with --generate");

  static_cast<void>(file_of(make_atoms({.unit_cells = 4}), "cut"));
  ASSERT_EQ(::truncate(path("cut").c_str(), 4096 + 256 * 64 - 1), 0);
  EXPECT_EQ(open_refusal("cut"),
            "the file has 20479 bytes, but 256 atoms take 20480; make the file anew with "
            "--generate");
  ASSERT_EQ(::truncate(path("cut").c_str(), 4096 + 256 * 64 + 1), 0);
  EXPECT_EQ(open_refusal("cut"),
            "the file has 20481 bytes, but 256 atoms take 20480; make the file anew with "
            "--generate");
  ASSERT_EQ(::truncate(path("cut").c_str(), 4096), 0);
  EXPECT_EQ(open_refusal("cut"),
            "the file has 4096 bytes, but 256 atoms take 20480; make the file anew with "
            "--generate");
}

TEST_F(AtomFileTest, is_refused_if_it_tells_of_more_atoms_than_it_may_have) {
  Header header = make_atoms({.unit_cells = 4}).header;
  static_cast<void>(file_of(make_atoms({.unit_cells = 4}), "many"));
  std::memcpy(header.magic, "K2KCoMD\n", 8);
  header.atoms = atoms_most + 1;
  header.check = check_of(header);
  overwrite("many", 0, {reinterpret_cast<const char*>(&header), sizeof(header)});
  EXPECT_EQ(open_refusal("many"), "268435457 atoms; permitted are 1 to 268435456");
}

TEST_F(AtomFileTest, that_cannot_be_written_whole_is_not_left_behind) {
  EXPECT_EQ(generate("/dev/full/atoms", {}).error().message,
            "/dev/full/atoms: Not a directory; name a path that does not exist, in a folder that "
            "may be written to");
  EXPECT_EQ(generate(path("small"), {.unit_cells = 3}).error().message,
            "the cutoff of 2.5 is larger than half the box's side of 4.685; take more --unit-cells "
            "or a larger --lattice");
  // A file may not grow beyond this size: writes end in the middle.
  const auto told = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status cut = generate(path("cut"), {.unit_cells = 4});
    return !cut &&
           cut.error().message ==
               path("cut") + "/sorted: File too large; the file needs 12288 more bytes there" &&
           ::access(path("cut").c_str(), F_OK) != 0;
  };
  EXPECT_EXIT(::_exit(told() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST_F(AtomFileTest, is_generated_in_both_orders) {
  ASSERT_TRUE(generate(path("in"), {.unit_cells = 4, .seed = 8}));
  EXPECT_EQ(
      generate(path("in"), {}).error().message,
      path("in") +
          ": File exists; name a path that does not exist, in a folder that may be written to");
  for (const std::uint32_t sorted : {0u, 1u}) {
    const auto file = open_atoms(path(sorted != 0 ? "in/sorted" : "in/unsorted"));
    ASSERT_TRUE(file);
    EXPECT_EQ(file->header.sorted, sorted);
    EXPECT_EQ(file->header.seed, 8u);
    EXPECT_EQ(file->header.atoms, 256u);
  }
}

TEST(Lattice, has_each_atoms_twelve_neighbours_at_the_same_distance) {
  const Atoms made = make_atoms({.unit_cells = 4});
  const double side = made.header.side[0];
  for (const Atom& atom : made.atoms) {
    std::uint32_t near = 0;
    for (const Atom& other : made.atoms) {
      double square = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double apart = nearest(atom.place[axis] - other.place[axis], side);
        square += apart * apart;
      }
      near += std::abs(std::sqrt(square) - 1.5616 / std::sqrt(2)) < 1e-9 ? 1 : 0;
    }
    ASSERT_EQ(near, 12u);
  }
}

TEST(Lattice, has_its_temperature_and_no_momentum) {
  const Atoms made = make_atoms({.unit_cells = 6, .temperature = 0.31, .seed = 3});
  double sum[3] = {};
  double square = 0;
  for (const Atom& atom : made.atoms) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      sum[axis] += atom.velocity[axis];
      square += atom.velocity[axis] * atom.velocity[axis];
    }
  }
  EXPECT_NEAR(square / 3 / 864, 0.31, 1e-12);
  for (const double one : sum) EXPECT_NEAR(one, 0, 1e-11);
  for (const Atom& atom : make_atoms({.unit_cells = 4, .temperature = 0}).atoms) {
    ASSERT_EQ(atom.velocity[0], 0);
  }
}

TEST(Lattice, is_equal_for_equal_seeds_and_has_the_same_atoms_in_both_orders) {
  Atoms sorted = make_atoms({.unit_cells = 5, .seed = 4});
  Atoms again = make_atoms({.unit_cells = 5, .seed = 4});
  EXPECT_EQ(sorted.atoms[77].velocity[0], again.atoms[77].velocity[0]);
  EXPECT_NE(sorted.atoms[77].velocity[0],
            make_atoms({.unit_cells = 5, .seed = 5}).atoms[77].velocity[0]);
  sort_by_cell(sorted);
  shuffle(again);
  const Box box = box_of(sorted.header.side, 500);
  std::uint32_t changes = 0;
  std::uint32_t changes_of_shuffled = 0;
  for (std::size_t index = 1; index < 500; ++index) {
    const auto differs = [&](const Atoms& atoms) {
      return cell_of(box, atoms.atoms[index].place) != cell_of(box, atoms.atoms[index - 1].place);
    };
    changes += differs(sorted) ? 1 : 0;
    changes_of_shuffled += differs(again) ? 1 : 0;
  }
  EXPECT_EQ(changes, 26u) << "27 cells, one after the other";
  EXPECT_GT(changes_of_shuffled, 400u);
  std::set<std::uint64_t> ids;
  for (const Atom& atom : again.atoms) ids.insert(atom.id);
  EXPECT_EQ(ids.size(), 500u);
}

TEST(Box, has_every_neighbour_once) {
  for (const double side : {5.0, 7.6, 10.1, 30.0}) {
    const double sides[3] = {side, 5.0, 12.6};
    const Box box = box_of(sides, 10'000);
    for (std::uint32_t cell = 0; cell < box.cell_count(); ++cell) {
      std::uint32_t neighbours[neighbours_most];
      const std::uint32_t count = neighbours_of(box, cell, neighbours);
      const std::set<std::uint32_t> each(neighbours, neighbours + count);
      ASSERT_EQ(each.size(), count);
      ASSERT_EQ(count, (box.cells[0] == 2 ? 2u : 3u) * 2u * 3u);
      ASSERT_EQ(each.count(cell), 1u);
      ASSERT_LT(*each.rbegin(), box.cell_count());
    }
  }
}

TEST(Box, has_few_cells_for_few_atoms) {
  const double sides[3] = {1e9, 1e9, 1e9};
  EXPECT_EQ(box_of(sides, 1'000).cell_count(), 1'000u);
  EXPECT_EQ(box_of(sides, 1).cell_count(), 8u);
}

}  // namespace
}  // namespace k2k::comd
