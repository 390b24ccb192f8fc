// openmp_grep WORDS PATH: the names of the files below PATH with one of the words of a file, as
// LC_ALL=C grep -r -F -l -f WORDS PATH prints them, in any order.
//
// The OpenMP grep of the thesis' figure 3.13 a, as fast as we can make it: one task per file, while
// one thread walks the directories. It uses k2k grep's own matcher, reads chunks of the same size,
// and writes a name when it is found. The programs therefore differ only in the maker of the system
// calls: host threads or a kernel.
//
// Threading: OMP_NUM_THREADS threads, by default one per core.

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "apps/grep/matcher.hpp"
#include "apps/grep/word_set.hpp"

namespace {

using k2k::grep::contains_word;
using k2k::grep::Words;

constexpr std::size_t chunk_bytes = 64u << 10;  // As in k2k grep (apps/grep/worker_buffers.hpp).
constexpr int exit_found = 0;
constexpr int exit_not_found = 1;
constexpr int exit_trouble = 2;

struct Search {
  Words words;
  std::atomic<bool> found{false};
  std::atomic<bool> trouble{false};
};

void complain(Search& search, const std::string& name) {
  std::fprintf(stderr, "openmp_grep: %s: %s\n", name.c_str(), std::strerror(errno));
  search.trouble = true;
}

bool has_word(Search& search, int fd, const std::string& name) {
  thread_local std::vector<unsigned char> text;
  const std::size_t longest_kept = search.words.longest == 0 ? 0 : search.words.longest - 1;
  text.resize(longest_kept + chunk_bytes);
  std::size_t kept = 0;
  while (true) {
    const ssize_t got = ::read(fd, text.data() + kept, chunk_bytes);
    if (got < 0) complain(search, name);
    if (got <= 0) return false;
    const std::size_t size = kept + static_cast<std::size_t>(got);
    if (contains_word(search.words, {text.data(), size, 0, size})) return true;
    if (static_cast<std::size_t>(got) < chunk_bytes) return false;  // Regular files only.
    kept = std::min(size, longest_kept);
    std::memmove(text.data(), text.data() + size - kept, kept);
  }
}

void search_file(Search& search, const std::string& name) {
  const int fd = ::open(name.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return complain(search, name);
  if (has_word(search, fd, name)) {
    search.found = true;
    const std::string line = name + '\n';
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) complain(search, "write error");
  }
  ::close(fd);
}

unsigned char type_of(const dirent& entry, int directory) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type;
  struct stat status{};
  if (::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
  return static_cast<unsigned char>(IFTODT(status.st_mode));
}

// Makes a task of each regular file. Links are not followed.
void walk(Search& search, std::string top) {
  std::vector<std::string> directories = {std::move(top)};
  while (!directories.empty()) {
    const std::string name = std::move(directories.back());
    directories.pop_back();
    DIR* const directory = ::opendir(name.c_str());
    if (directory == nullptr) {
      complain(search, name);
      continue;
    }
    while (const dirent* const entry = ::readdir(directory)) {
      if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
      std::string path = name + '/' + entry->d_name;
      const unsigned char type = type_of(*entry, ::dirfd(directory));
      if (type == DT_DIR) {
        directories.push_back(std::move(path));
      } else if (type == DT_REG) {
#pragma omp task firstprivate(path) shared(search)
        search_file(search, path);
      }
    }
    ::closedir(directory);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: openmp_grep WORDS PATH\n");
    return exit_trouble;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    std::fprintf(stderr, "openmp_grep: %s cannot be read\n", argv[1]);
    return exit_trouble;
  }
  std::vector<std::string> list;
  k2k::grep::add_words_of_file(text, list);
  auto set = k2k::grep::WordSet::build(std::move(list));
  if (!set) {
    std::fprintf(stderr, "openmp_grep: %s\n", set.error().message.c_str());
    return exit_trouble;
  }
  Search search;
  search.words = set->at(set->image());
  std::string top = argv[2];
  while (top.size() > 1 && top.back() == '/') top.pop_back();
#pragma omp parallel
#pragma omp single
  walk(search, top);
  if (search.trouble) return exit_trouble;
  return search.found ? exit_found : exit_not_found;
}
