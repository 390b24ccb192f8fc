// Goal: the elements' matrix has the entries that a computation by hand gives, and the error of the
// solution shrinks with the square of the mesh; the kernels' residuals are the serial program's;
// one file has the same bits in every mode and shape of launch; a wrong file, page or row, and a
// file that becomes shorter, ends a run with its reason.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "apps/common/input_fixture.hpp"
#include "apps/minife/mesh.hpp"
#include "apps/minife/solve.hpp"

namespace k2k::minife {
namespace {

using apps::Mode;

using apps::small_device;

class Minife : public apps::InputTest {
 protected:
  // A new file of this system; `change` may make its header wrong.
  template <class Change>
  std::string put(const System& system, const Change& change) const {
    const std::vector<std::byte> data = data_of(system);
    Header header = header_of(system, {}, true);
    change(header);
    const std::vector<std::byte> head = head_of(header, data);
    std::filesystem::remove(path("matrix"));
    EXPECT_TRUE(apps::write_new_file({path("matrix"), head, data}));
    return path("matrix");
  }
  [[nodiscard]] MatrixFile file_of(const System& system) const {
    auto opened = open_matrix(put(system, [](Header&) {}));
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(opened.value());
  }
  [[nodiscard]] static std::string open_refusal(const std::string& name) {
    return InputTest::refusal(name, open_matrix(name));
  }
  [[nodiscard]] static Outcome run(const MatrixFile& file, const Settings& settings) {
    auto outcome = solve(file, settings, small_device());
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? std::move(outcome.value()) : Outcome();
  }
  [[nodiscard]] static std::string refusal(const MatrixFile& file, const Settings& settings) {
    return InputTest::refusal(file.path, solve(file, settings, small_device()));
  }
  // The same refusal in every way.
  [[nodiscard]] std::string refusal_of(const System& system) const {
    const MatrixFile file = file_of(system);
    const std::string told = refusal(file, {});
    EXPECT_EQ(refusal(file, {.mode = Mode::pinned}), told);
    EXPECT_EQ(refusal(file, {.by = By::threads}), told);
    EXPECT_EQ(refusal(file, {.by = By::serial}), told);
    return told;
  }
};

TEST(Elements, have_the_entries_of_a_computation_by_hand) {
  // Of a node within: 8 h/3 itself, 0 at six faces, -h/6 at 12 edges, -h/12 at 8 corners.
  const System system = assemble(4);
  ASSERT_EQ(system.right.size(), 27u);
  const double width = 0.25;
  const std::uint64_t begin = system.starts[13];  // The node in the middle.
  ASSERT_EQ(system.starts[14] - begin, 27u);
  double sum = 0;
  for (std::uint32_t around = 0; around < 27; ++around) {
    const int away = std::abs(static_cast<int>(around % 3) - 1) +
                     std::abs(static_cast<int>(around / 3 % 3) - 1) +
                     std::abs(static_cast<int>(around / 9) - 1);
    const double right[] = {8 * width / 3, 0, -width / 6, -width / 12};
    EXPECT_EQ(system.columns[begin + around], around);
    EXPECT_NEAR(system.values[begin + around], right[away], 1e-15);
    sum += system.values[begin + around];
  }
  EXPECT_NEAR(sum, 0, 1e-15) << "a constant has no slope";
  EXPECT_EQ(system.starts[1], 8u) << "a corner has eight neighbours within";
}

TEST(Elements, make_a_symmetric_matrix_in_both_orders) {
  const System sorted = assemble(5);
  for (const System& system : {sorted, shuffled(sorted, 7)}) {
    std::vector<std::vector<double>> dense(64, std::vector<double>(64));
    for (std::size_t row = 0; row < 64; ++row) {
      for (std::uint64_t entry = system.starts[row]; entry < system.starts[row + 1]; ++entry) {
        dense[row][system.columns[entry]] = system.values[entry];
      }
    }
    for (std::size_t row = 0; row < 64; ++row) {
      for (std::size_t column = 0; column < 64; ++column) {
        ASSERT_NEAR(dense[row][column], dense[column][row], 1e-16);
      }
    }
  }
  EXPECT_NE(shuffled(sorted, 7).exact, sorted.exact);
  EXPECT_EQ(shuffled(sorted, 7).columns, shuffled(sorted, 7).columns);
  EXPECT_NE(shuffled(sorted, 7).columns, shuffled(sorted, 8).columns);
}

TEST_F(Minife, has_an_error_that_shrinks_with_the_square_of_the_mesh) {
  const Outcome coarse = run(file_of(assemble(4)), {});
  const Outcome fine = run(file_of(assemble(8)), {});
  EXPECT_TRUE(coarse.converged && fine.converged);
  EXPECT_LT(fine.true_residual, 1e-9);
  EXPECT_GT(coarse.error, 3 * fine.error);
  EXPECT_LT(coarse.error, 6 * fine.error);
  EXPECT_LT(fine.error, 0.01);
  EXPECT_GT(fine.error, 1e-6);
}

TEST_F(Minife, has_the_serial_programs_residuals_and_solution) {
  for (const System& system : {assemble(7), shuffled(assemble(7), 3)}) {
    const MatrixFile file = file_of(system);
    const Outcome kernel = run(file, {.keep_solution = true});
    const Outcome serial = run(file, {.by = By::serial, .keep_solution = true});
    EXPECT_TRUE(kernel.converged && serial.converged);
    ASSERT_EQ(kernel.residuals.size(), serial.residuals.size());
    EXPECT_GT(kernel.residuals.size(), 8u);
    for (std::size_t iteration = 0; iteration < kernel.residuals.size(); ++iteration) {
      EXPECT_NEAR(kernel.residuals[iteration] / serial.residuals[iteration], 1, 1e-6) << iteration;
    }
    EXPECT_NEAR(kernel.error / serial.error, 1, 1e-6);
    EXPECT_NEAR(kernel.residuals.back(), kernel.true_residual, 1e-13);
    ASSERT_EQ(kernel.solution.size(), 216u);
    for (std::size_t row = 0; row < 216; ++row) {
      EXPECT_NEAR(kernel.solution[row], serial.solution[row], 1e-12);
    }
  }
}

TEST_F(Minife, has_the_same_bits_in_each_mode_and_shape) {
  const MatrixFile file = file_of(assemble(9));  // 512 rows: two blocks.
  const Outcome right = run(file, {});
  EXPECT_EQ(right.pages, file.layout.pages());
  EXPECT_GE(right.requests, 1u);
  EXPECT_NE(right.bits, run(file, {.iterations = 5}).bits);
  const Outcome pinned = run(file, {.mode = Mode::pinned});
  EXPECT_EQ(pinned.bits, right.bits);
  EXPECT_EQ(pinned.pages + pinned.requests, 0u);
  for (const Mode mode : {Mode::demand, Mode::pinned}) {
    const Outcome threads = run(file, {.by = By::threads, .mode = mode});
    EXPECT_EQ(threads.bits, right.bits);
    EXPECT_EQ(threads.pages + threads.requests, 0u) << "Linux serves the faults";
  }
  EXPECT_EQ(run(file, {.by = By::threads, .groups = 3, .threads = 4}).bits, right.bits);
  EXPECT_EQ(run(file, {.groups = 1, .items = 1}).bits, right.bits);
  EXPECT_EQ(run(file, {.groups = 3, .items = 7}).bits, right.bits);
  const auto huge = solve(file, {.mode = Mode::huge}, small_device());
  if (huge) {
    EXPECT_EQ(huge->bits, right.bits);
    EXPECT_GT(huge->huge_bytes, 0u);
  } else {
    EXPECT_EQ(apps::modes_here().size(), 2u) << huge.error().message;
  }
}

TEST_F(Minife, ends_at_its_iterations) {
  for (const By by : {By::kernel, By::serial}) {
    const Outcome outcome = run(file_of(assemble(7)), {.by = by, .iterations = 3});
    EXPECT_FALSE(outcome.converged);
    EXPECT_EQ(outcome.residuals.size(), 3u);
    EXPECT_GT(outcome.true_residual, 1e-6);
  }
}

TEST_F(Minife, solves_a_system_without_a_right_hand_side_at_once) {
  System system = assemble(4);
  system.right.assign(27, 0);
  for (const By by : {By::kernel, By::serial}) {
    const Outcome outcome = run(file_of(system), {.by = by});
    EXPECT_TRUE(outcome.converged);
    EXPECT_EQ(outcome.residuals.size(), 0u);
    EXPECT_EQ(outcome.true_residual, 0);
  }
}

TEST_F(Minife, tells_a_matrix_that_is_not_positive_definite) {
  System system = assemble(3);  // Eight rows of eight entries; the face neighbours' are zero.
  for (std::uint64_t entry = 0; entry < system.columns.size(); ++entry) {
    if (system.columns[entry] != entry / 8) system.values[entry] = -5;
  }
  system.right.assign(8, 1);
  const std::string told = refusal_of(system);
  EXPECT_EQ(told.rfind("iteration 1: p A p is -", 0), 0u) << told;
  EXPECT_NE(told.find(", so the matrix is not positive definite; make the file anew"),
            std::string::npos);
}

TEST_F(Minife, tells_a_row_that_is_wrong) {
  const System right = assemble(4);
  const auto told = [&](const auto& change) {
    System system = right;
    change(system);
    return refusal_of(system);
  };
  const std::string anew = "; make the file anew with --generate";
  const std::string bad_start = " has no right begin and end in the entries" + anew;
  EXPECT_EQ(told([](System& one) { one.starts[5] = one.starts[6] + 1; }), "row 4" + bad_start);
  EXPECT_EQ(told([](System& one) { one.starts[0] = 1; }), "row 0" + bad_start);
  EXPECT_EQ(told([](System& one) { one.starts[27] += 1; }), "row 26" + bad_start);
  EXPECT_EQ(told([](System& one) { one.starts[27] -= 1; }), "row 26" + bad_start);
  const std::string bad_column =
      " has a column beyond the rows, or columns that do not ascend" + anew;
  EXPECT_EQ(told([](System& one) { one.columns[one.starts[9]] = 27; }), "row 9" + bad_column);
  EXPECT_EQ(told([](System& one) { one.columns[one.starts[9] + 1] = 0; }), "row 9" + bad_column);
  const std::string not_finite = " has a value that is not finite" + anew;
  EXPECT_EQ(told([](System& one) { one.values[one.starts[3]] = std::nan(""); }),
            "row 3" + not_finite);
  EXPECT_EQ(told([](System& one) { one.right[4] = std::numeric_limits<double>::infinity(); }),
            "row 4" + not_finite);
  EXPECT_EQ(told([](System& one) { one.exact[4] = std::nan(""); }), "row 4" + not_finite);
  EXPECT_EQ(told([](System& one) { one.values[one.starts[0]] = -1; }),
            "row 0 has no positive value on the diagonal" + anew);
}

TEST_F(Minife, tells_a_page_that_is_damaged) {
  const MatrixFile file = file_of(assemble(9));
  std::fstream(file.path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(file.offset + 3 * 4096 + 17))
      .put('x');
  for (const By by : {By::kernel, By::serial}) {
    EXPECT_EQ(refusal(file, {.by = by}),
              "page 3 of the data is damaged: its check does not fit; make the file anew with "
              "--generate");
  }
}

TEST_F(Minife, tells_a_file_that_becomes_shorter_while_it_is_mapped) {
  for (const std::uint64_t lost : {1u, 4096u, 8192u, 5000u}) {
    for (const auto& [by, mode] :
         {std::pair{By::kernel, Mode::demand}, std::pair{By::kernel, Mode::pinned},
          std::pair{By::threads, Mode::pinned}, std::pair{By::serial, Mode::pinned}}) {
      // Eight bytes for each of 512 rows: the last page is full.
      const MatrixFile file = file_of(assemble(9));
      const std::uint64_t whole = file.offset + file.bytes;
      ASSERT_EQ(::truncate(file.path.c_str(), static_cast<long>(whole - lost)), 0);
      EXPECT_EQ(refusal(file, {.by = by, .mode = mode}),
                "the file became shorter while it was in use: " + std::to_string(whole - lost) +
                    " of " + std::to_string(whole) + " bytes; make the file anew with --generate");
    }
  }
}

TEST_F(Minife, of_threads_ends_with_one_line_when_the_mapped_file_is_cut) {
  const MatrixFile file = file_of(assemble(9));
  ASSERT_EQ(::truncate(file.path.c_str(), static_cast<long>(file.offset + 4096)), 0);
  EXPECT_EXIT(static_cast<void>(solve(file, {.by = By::threads}, small_device())),
              testing::ExitedWithCode(1),
              "^k2k-minife: .*the file became shorter while it was mapped: a page of it is gone");
}

TEST_F(Minife, refuses_what_is_no_matrix_file) {
  EXPECT_EQ(open_refusal(path("nowhere")),
            "No such file or directory; name a file that --generate made");
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(open_refusal(path("folder")), "not a regular file; name a file that --generate made");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(open_refusal(path("pipe")), "not a regular file; name a file that --generate made");
  std::ofstream(path("short")) << "K2KmFE\n";
  EXPECT_EQ(open_refusal(path("short")),
            "the file has 7 bytes, fewer than its header's 4096; make the file anew with "
            "--generate");
  std::ofstream(path("text")) << std::string(5000, 'x');
  EXPECT_EQ(open_refusal(path("text")),
            "no matrix file, which begins with K2KmFE; make one with --generate");
}

TEST_F(Minife, refuses_a_wrong_header_table_or_size) {
  const System system = assemble(4);
  const auto told = [&](const auto& change) { return open_refusal(put(system, change)); };
  const std::string anew = "; make the file anew with --generate";
  EXPECT_EQ(told([](Header& header) { header.version = 3; }),
            "version 3 of the format, but this program reads version 1" + anew);
  EXPECT_EQ(told([](Header& header) { header.check = 3; }),
            "the header is damaged: its check does not fit" + anew);
  EXPECT_EQ(told([](Header& header) { header.table_check = 3; }),
            "the table of checks is damaged: its check does not fit" + anew);
  EXPECT_EQ(told([](Header& header) { header.rows = 0; }), "no rows" + anew);
  EXPECT_EQ(told([](Header& header) { header.entries = 27 * 27 + 1; }),
            "27 rows with 730 entries; permitted are 268435456 rows, and 27 entries a row");
  EXPECT_EQ(told([](Header& header) { header.rows = rows_most + 1; }),
            "268435457 rows with 343 entries; permitted are 268435456 rows, and 27 entries a row");
  const std::string name = put(system, [](Header&) {});
  const auto whole = std::filesystem::file_size(name);
  for (const auto bytes : {whole - 1, whole + 1, std::uintmax_t{4096}}) {
    std::filesystem::resize_file(name, bytes);
    EXPECT_EQ(open_refusal(name), "the file has " + std::to_string(bytes) +
                                      " bytes, but 27 rows with 343 entries take " +
                                      std::to_string(whole) + anew);
  }
}

TEST_F(Minife, is_generated_in_both_orders) {
  ASSERT_TRUE(generate(path("in"), {.elements = 5, .seed = 8}));
  EXPECT_EQ(
      generate(path("in"), {}).error().message,
      path("in") +
          ": File exists; name a path that does not exist, in a folder that may be written to");
  for (const std::uint32_t sorted : {0u, 1u}) {
    const auto file = open_matrix(path(sorted != 0 ? "in/sorted" : "in/unsorted"));
    ASSERT_TRUE(file);
    EXPECT_EQ(file->header.sorted, sorted);
    EXPECT_EQ(file->header.rows, 64u);
    EXPECT_EQ(file->header.elements, 5u);
    EXPECT_EQ(file->header.seed, 8u);
  }
}

}  // namespace
}  // namespace k2k::minife
