#pragma once
// For tests: files of atoms in a folder of their own, right ones and wrong ones, and a small
// device.
//
// Threading: the test's.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "apps/comd/lattice.hpp"
#include "apps/comd/simulate.hpp"
#include "base/temporary_folder.hpp"

namespace k2k::comd {

inline RuntimeConfig small_device() {
  RuntimeConfig config;
  config.backend = "cpu";
  config.device.compute_units = 1;
  return config;
}

class AtomsTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return own_.path() + "/" + name; }
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
    const auto outcome = simulate(file, settings, small_device());
    if (outcome) return "no error";
    const std::string& message = outcome.error().message;
    return message.rfind(file.path + ": ", 0) == 0 ? message.substr(file.path.size() + 2) : message;
  }

 private:
  const TemporaryFolder own_ = TemporaryFolder::create("k2k-comd").value();
};

}  // namespace k2k::comd
