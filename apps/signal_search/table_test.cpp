// Goal: files that are no tables are refused with the place and the reason; generated files are
// read back; a search finds exactly the records that exist.

#include "apps/signal_search/table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/temporary_folder.hpp"

namespace k2k::signal_search {
namespace {

namespace fs = std::filesystem;

class Table : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& bytes) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string refusal(const std::string& path) {
    const auto records = read_records(path);
    return records ? "" : records.error().message;
  }

  const TemporaryFolder own_ = TemporaryFolder::create("k2k-table").value();
  const fs::path folder_ = own_.path();
};

TEST_F(Table, is_refused_with_the_reason) {
  const std::string nowhere = (folder_ / "nowhere").string();
  EXPECT_EQ(refusal(nowhere), nowhere + ": No such file or directory");
  EXPECT_EQ(refusal(folder_.string()), folder_.string() + ": Is a directory");
  const std::string empty = put("empty", "");
  EXPECT_EQ(refusal(empty), empty + ": no record");
  const std::string cut = put("cut", std::string(100, 'a'));
  EXPECT_EQ(refusal(cut), cut + ": 100 bytes are no multiple of a record's 64");
  std::vector<Record> records = make_records({.records = 3});
  std::swap(records[1].key, records[2].key);
  const std::string unsorted =
      put("unsorted", {reinterpret_cast<const char*>(records.data()), 3 * sizeof(Record)});
  EXPECT_EQ(refusal(unsorted), unsorted + ": record 2 has the key 16 behind the key 30; sort them");
  const std::string short_queries = put("queries", "1234567");
  EXPECT_EQ(read_queries(short_queries).error().message,
            short_queries + ": 7 bytes are no multiple of a query's 8");
}

TEST_F(Table, is_generated_and_read_back) {
  const TableSizes sizes{.records = 100, .queries = 77, .seed = 9};
  const std::string made = (folder_ / "in").string();
  ASSERT_TRUE(generate(made, sizes));
  EXPECT_EQ(generate(made, sizes).error().code, EEXIST);
  const auto records = read_records(made + "/records");
  ASSERT_TRUE(records);
  EXPECT_EQ(std::memcmp(records->data(), make_records(sizes).data(), 100 * sizeof(Record)), 0);
  EXPECT_EQ(*read_queries(made + "/queries"), make_queries(sizes));
}

TEST(LookUp, finds_the_records_that_exist) {
  const std::vector<Record> records = make_records({.records = 257});
  Job job;
  job.records = records.data();
  for (job.record_count = 0; job.record_count <= records.size(); ++job.record_count) {
    for (std::uint64_t place = 0; place < records.size(); ++place) {
      const Record* const found = find(job, records[place].key);
      EXPECT_EQ(found, place < job.record_count ? &records[place] : nullptr);
      EXPECT_EQ(find(job, records[place].key + 1), nullptr);
    }
    EXPECT_EQ(find(job, 0), nullptr);
    EXPECT_EQ(find(job, ~std::uint64_t{0}), nullptr);
  }
}

}  // namespace
}  // namespace k2k::signal_search
