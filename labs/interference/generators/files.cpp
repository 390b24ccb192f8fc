// The file system from the device (HISS, table I; thesis, section 3.8): kernels make, write and
// read files, and the host reads them once more.

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/temporary_folder.hpp"
#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"
#include "labs/interference/generators/output.hpp"

namespace k2k::labs::generators {

namespace {

class Files : public Workload {
 public:
  Files(TemporaryFolder folder, Output<FilePath> paths, Input<FileRecord> records,
        Output<std::int64_t> sums)
      : folder_(std::move(folder)),
        paths_(std::move(paths)),
        records_(std::move(records)),
        sums_(std::move(sums)) {}

  Status run(Runtime& runtime) override {
    const FilesKernel kernel{paths_.data(), records_.data(), sums_.data(),
                             static_cast<std::uint32_t>(paths_.size())};
    return launch_kernel(runtime, shape_on(runtime), kernel, "files");
  }

  // The sums that the kernel computed from its reads, and the sums that the host computes from the
  // files.
  std::vector<double> answers() override {
    std::vector<double> all(sums_.begin(), sums_.end());
    for (const FilePath& path : paths_) {
      std::ifstream file(path.text, std::ios::binary);
      for (std::uint32_t record = 0; record < file_records; ++record) {
        FileRecord copy{};
        file.read(reinterpret_cast<char*>(&copy), sizeof(copy));
        all.push_back(file ? static_cast<double>(sum_of(copy)) : -1);
      }
    }
    return all;
  }
  std::vector<double> reference() override {
    std::vector<double> sums;
    for (std::size_t record = 0; record < records_.size(); ++record) {
      sums.push_back(static_cast<double>(sum_of(records_[record])));
    }
    std::vector<double> twice = sums;
    twice.insert(twice.end(), sums.begin(), sums.end());
    return twice;
  }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {records_.region()};
  }

 private:
  TemporaryFolder folder_;
  Output<FilePath> paths_;
  Input<FileRecord> records_;
  Output<std::int64_t> sums_;
};

Result<std::vector<FilePath>> paths_in(const TemporaryFolder& folder, std::uint32_t count) {
  std::vector<FilePath> paths(count);
  for (std::uint32_t file = 0; file < count; ++file) {
    const std::string path = fmt::format("{}/{}", folder.path(), file);
    if (path.size() >= path_bytes) {
      return Error{ENAMETOOLONG, fmt::format("the path '{}' has {} bytes; permitted are {}; set "
                                             "TMPDIR to a shorter one",
                                             path, path.size(), path_bytes - 1)};
    }
    std::strncpy(paths[file].text, path.c_str(), path_bytes - 1);
  }
  return paths;
}

}  // namespace

Result<std::unique_ptr<Workload>> make_files(Runtime& runtime, const Settings& settings) {
  const auto files = settings.by_scale<std::uint32_t>(6, 200, 2'000);
  auto folder = TemporaryFolder::create("k2k-generators");
  if (!folder) return folder.error();
  auto paths = paths_in(folder.value(), files);
  if (!paths) return paths.error();
  std::vector<FileRecord> records(std::size_t{files} * file_records);
  std::uint64_t next = 0;
  for (FileRecord& record : records) {
    for (std::uint64_t& word : record.words) word = draw(settings.seed, next++) >> 32;
  }
  auto input = Input<FileRecord>::create(runtime, std::move(records), "file records");
  if (!input) return input.error();
  auto shared_paths = Output<FilePath>::copy_of(runtime, paths.value());
  if (!shared_paths) return shared_paths.error();
  auto sums = Output<std::int64_t>::create(runtime, input->size());
  if (!sums) return sums.error();
  return Result<std::unique_ptr<Workload>>(
      std::make_unique<Files>(std::move(folder.value()), std::move(shared_paths.value()),
                              std::move(input.value()), std::move(sums.value())));
}

}  // namespace k2k::labs::generators
