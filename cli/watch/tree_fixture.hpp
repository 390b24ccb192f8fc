#pragma once
// A folder with the tree of a file in fixtures/, whose about.txt describes the format; tests may
// change its files.
//
// Threading: one thread.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <istream>
#include <string>

#include "base/temporary_folder.hpp"
#include "cli/watch/sources/text_files.hpp"

namespace k2k::watch {

class Tree {
 public:
  // `sources` is the root of the repository.
  Tree(const std::filesystem::path& sources, const std::string& machine) {
    const std::string source = (sources / "cli/watch/fixtures" / (machine + ".txt")).string();
    std::ifstream file(source);
    EXPECT_TRUE(file) << source;
    write_all(file);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  [[nodiscard]] Roots roots() const {
    return {(folder_ / "proc").string(), (folder_ / "sys").string()};
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::trunc) << text;
  }

 private:
  void write_all(std::istream& lines) const {
    std::string name;
    std::string content;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("== ")) {
        content += line + "\n";
        continue;
      }
      if (!name.empty()) write(name, content);
      name = line.substr(3);
      content.clear();
      const std::size_t arrow = name.find(" -> ");
      if (arrow == std::string::npos) continue;
      const std::filesystem::path link = folder_ / name.substr(0, arrow);
      std::filesystem::create_directories(link.parent_path());
      std::filesystem::create_symlink(name.substr(arrow + 4), link);
      name.clear();
    }
    if (!name.empty()) write(name, content);
  }

  const TemporaryFolder own_ = TemporaryFolder::create("k2k-tree").value();
  const std::filesystem::path folder_ = own_.path();
};

}  // namespace k2k::watch
