#pragma once
// For tests: files of atoms in a folder of their own, right ones and wrong ones.
//
// Threading: the test's.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "apps/comd/lattice.hpp"
#include "apps/comd/simulate.hpp"
#include "apps/common/input_fixture.hpp"

namespace k2k::comd {

using apps::small_device;

class AtomsTest : public apps::InputTest {
 protected:
  // A new file of these atoms, opened.
  [[nodiscard]] AtomFile file_of(const Atoms& atoms, const std::string& name = "atoms") const {
    std::filesystem::remove(path(name));
    const Status written = write_atoms(path(name), atoms.header, atoms.atoms);
    EXPECT_TRUE(written) << written.error().message;
    auto opened = open_atoms(path(name));
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(opened.value());
  }
  [[nodiscard]] static Outcome run(const AtomFile& file, const Settings& settings) {
    auto outcome = simulate(file, settings, small_device());
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? std::move(outcome.value()) : Outcome();
  }
  // The message of a run that ends with an error, without the file's path.
  [[nodiscard]] static std::string refusal(const AtomFile& file, const Settings& settings) {
    return InputTest::refusal(file.path, simulate(file, settings, small_device()));
  }
};

}  // namespace k2k::comd
