#pragma once
// A folder that replaces /proc, with files that a test writes.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace k2k::host {

class PlantedProc {
 public:
  PlantedProc() {
    std::string name = (std::filesystem::temp_directory_path() / "k2k-proc-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~PlantedProc() { std::filesystem::remove_all(folder_); }
  PlantedProc(const PlantedProc&) = delete;
  PlantedProc& operator=(const PlantedProc&) = delete;

  // Overwrites the file: a process that has it open reads the new text.
  void plant(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path, std::ios::trunc) << text;
  }
  [[nodiscard]] std::string path() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace k2k::host
