#pragma once
// Device code of `files`: one file per work-group. The group opens it, its work-items write records
// and read each other's records, the group closes it. C++17, any device.

#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::labs::generators {

inline constexpr std::uint32_t record_words = 32;
inline constexpr std::uint32_t file_records = 128;
inline constexpr std::uint32_t path_bytes = 128;

struct FilePath {
  char text[path_bytes];
};
struct FileRecord {
  std::uint64_t words[record_words];  // Below 2^32.
};

K2K_HD inline std::uint64_t sum_of(const FileRecord& record) {
  std::uint64_t sum = 0;
  for (std::uint32_t word = 0; word < record_words; ++word) sum += record.words[word] ^ word;
  return sum;
}

struct FilesKernel {
  static constexpr int read_write_create = 0102;  // O_RDWR | O_CREAT
  static constexpr std::uint32_t owner_only = 0600;

  const FilePath* paths;
  const FileRecord* records;  // [file][record]
  std::int64_t* sums;         // [file][record]: the sum of the record as read, or a negative errno.
  std::uint32_t files;

  K2K_DEVICE void operator()() const {
    for (std::uint32_t file = k2k::group_rank(); file < files; file += k2k::group_count()) {
      const int fd =
          k2k::open(k2k::work_group, k2k::halting, paths[file].text, read_write_create, owner_only)
              .fd();
      const std::uint64_t first = std::uint64_t{file} * file_records;
      for (std::uint32_t record = k2k::item_rank(); record < file_records;
           record += k2k::group_size()) {
        write(fd, record, records[first + record]);
      }
      k2k::barrier();  // The neighbours' records are written.
      for (std::uint32_t record = k2k::item_rank(); record < file_records;
           record += k2k::group_size()) {
        const std::uint32_t other = file_records - 1 - record;
        sums[first + other] = read_back(fd, other);
      }
      k2k::close(k2k::work_group, k2k::halting, fd);
    }
  }

 private:
  // Copied first: an access to a missing page of `source` is a fault, and the call then finds the
  // page.
  K2K_DEVICE static void write(int fd, std::uint32_t record, const FileRecord& source) {
    const FileRecord copy = source;
    k2k::pwrite(k2k::work_item, k2k::halting, fd, &copy, sizeof(copy),
                static_cast<std::int64_t>(record * sizeof(copy)));
  }
  K2K_DEVICE static std::int64_t read_back(int fd, std::uint32_t record) {
    FileRecord copy{};
    const long count = k2k::pread(k2k::work_item, k2k::halting, fd, &copy, sizeof(copy),
                                  static_cast<std::int64_t>(record * sizeof(copy)));
    if (count < 0) return count;
    return static_cast<std::int64_t>(sum_of(copy));
  }
};

}  // namespace k2k::labs::generators
