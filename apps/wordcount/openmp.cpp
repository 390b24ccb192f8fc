// The CPU's counterpart: one thread per core takes files, as the groups of the kernel do. It has
// the kernel's matcher and chunks, so the programs differ only in the maker of the system calls.

#include <unistd.h>

#include <cstring>

#include "apps/grep/bytes.hpp"
#include "apps/wordcount/count.hpp"
#include "apps/wordcount/counter.hpp"
#include "apps/wordcount/direct.hpp"

namespace k2k::wordcount {

namespace {

class ThreadCounter {
 public:
  ThreadCounter(const Strings& strings, std::uint32_t chunk_bytes)
      : strings_(strings),
        words_(strings.tables().at(strings.tables().image())),
        chunk_bytes_(chunk_bytes),
        text_(words_.longest - 1 + chunk_bytes),
        counts_(strings.counters()) {}

  // Returns 0 or an errno.
  std::int32_t count_file(const char* path) {
    const long fd = libc::open(path);
    if (fd < 0) return static_cast<std::int32_t>(-fd);
    const std::int32_t error = count_open(static_cast<int>(fd));
    libc::close(static_cast<int>(fd));
    return error;
  }

  void add_to(Counts& counts) const {
    for (std::size_t counter = 0; counter < counts_.size(); ++counter) {
      counts.of_strings[counter] += counts_[counter];
    }
    counts.bytes += bytes_;
  }

 private:
  std::int32_t count_open(int fd) {
    std::size_t kept = 0;
    std::int64_t offset = 0;
    while (true) {
      const long got = libc::pread(fd, text_.data() + kept, chunk_bytes_, offset);
      if (got < 0) return static_cast<std::int32_t>(-got);
      const std::size_t size = kept + static_cast<std::size_t>(got);
      count_strings(words_, {text_.data(), size, 0, size}, kept,
                    [&](std::uint32_t string) { ++counts_[strings_.slots()[string]]; });
      bytes_ += static_cast<std::uint64_t>(got);
      offset += got;
      if (got < static_cast<long>(chunk_bytes_)) return 0;  // Regular files only: the end.
      kept = carried(size, words_.longest - 1);
      grep::move_down(text_.data(), text_.data() + size - kept, kept);
    }
  }

  const Strings& strings_;
  const grep::Words words_;
  const std::uint32_t chunk_bytes_;
  std::vector<unsigned char> text_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Counts count_by_openmp(const Strings& strings, const std::vector<std::string>& files,
                       std::uint32_t threads, std::uint32_t chunk_bytes) {
  Counts counts;
  counts.of_strings.resize(strings.counters());
  counts.errors.resize(files.size());
#pragma omp parallel num_threads(static_cast<int>(threads))
  {
    ThreadCounter counter(strings, chunk_bytes);
#pragma omp for schedule(dynamic)
    for (std::size_t file = 0; file < files.size(); ++file) {
      counts.errors[file] = counter.count_file(files[file].c_str());
    }
#pragma omp critical
    counter.add_to(counts);
  }
  return counts;
}

}  // namespace k2k::wordcount
