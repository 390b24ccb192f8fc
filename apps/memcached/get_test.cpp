// Goal: a GET answers the same from the group's copy of an element as from the table; it finds the
// element of its key among others with the same tag; and a bucket whose version stays odd is busy.
// Method: a table of one bucket, GETs by a lane that reads in place and by one that copies.

#include "apps/memcached/get.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "apps/memcached/store.hpp"

namespace k2k::memcached {
namespace {

struct CopyingLane : HostLane {
  explicit CopyingLane(Entry& place) : held(&place) {}
  [[nodiscard]] Entry* copy() const { return held; }
  Entry* held;
};

class GetTest : public testing::Test {
 protected:
  static constexpr std::uint32_t elements = 7;  // No multiple of the loads at once.

  GetTest() {
    const Store::Sizes sizes = Store::sizes_of(1, elements);
    versions_.resize(sizes.versions / sizeof(std::uint64_t));
    tags_.resize(sizes.tags / sizeof(std::uint32_t));
    entries_.resize(sizes.entries / sizeof(Entry));
    table_ = {versions_.data(), tags_.data(), entries_.data(), 1, elements};
    store_ = std::make_unique<Store>(table_);
  }

  void set(const std::string& key, const std::string& value) {
    const std::string extras("\0\0\0\7\0\0\0\0", set_extras_bytes);
    const std::string datagram = request(opcode_set, extras, key, value);
    unsigned char answer[2048] = {};
    store_->answer(parsed(datagram), bytes_of(datagram), answer);
    ASSERT_EQ(word16(answer + frame_bytes + 6), 0) << key;
  }

  template <class Lanes>
  std::string get(const Lanes& lanes, const std::string& key) {
    const std::string datagram = request(opcode_get, "", key, "");
    Talk talk{};
    std::vector<unsigned char> answer(2048);
    const std::size_t bytes =
        answer_get(lanes, talk, table_, parsed(datagram), bytes_of(datagram), answer.data());
    return {answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(bytes)};
  }

  static std::string request(unsigned char opcode, const std::string& extras,
                             const std::string& key, const std::string& value) {
    unsigned char head[frame_bytes + header_bytes] = {0,     1, 0, 0, 0, 1, 0, 0, magic_request,
                                                      opcode};
    unsigned char* const header = head + frame_bytes;
    put16(header + 2, static_cast<std::uint16_t>(key.size()));
    header[4] = static_cast<unsigned char>(extras.size());
    put32(header + 8, static_cast<std::uint32_t>(extras.size() + key.size() + value.size()));
    return std::string(reinterpret_cast<const char*>(head), sizeof(head)) + extras + key + value;
  }
  static const unsigned char* bytes_of(const std::string& datagram) {
    return reinterpret_cast<const unsigned char*>(datagram.data());
  }
  static Request parsed(const std::string& datagram) {
    return parse(bytes_of(datagram), datagram.size());
  }
  static std::string value_of(const std::string& answer) {
    return answer.substr(frame_bytes + header_bytes + get_extras_bytes);
  }

  std::vector<std::uint64_t> versions_;
  std::vector<std::uint32_t> tags_;
  std::vector<Entry> entries_;
  Table table_;
  std::unique_ptr<Store> store_;
  Entry held_{};
};

TEST_F(GetTest, a_copy_answers_as_the_table) {
  const std::vector<std::string> keys = {"a", "seven77", "eight888", std::string(250, 'k')};
  for (const std::string& key : keys) set(key, "value of " + key);
  set("empty", "");
  set("full", std::string(value_bytes_max, 'v'));
  for (const std::string& key : keys) {
    const std::string answer = get(CopyingLane(held_), key);
    EXPECT_EQ(value_of(answer), "value of " + key);
    EXPECT_EQ(answer, get(HostLane(), key));
  }
  for (const char* const key : {"empty", "full", "absent"}) {
    EXPECT_EQ(get(CopyingLane(held_), key), get(HostLane(), key)) << key;
  }
}

TEST_F(GetTest, finds_its_key_among_elements_with_the_same_tag) {
  set("mine", "my value");
  set("other", "another value");
  set("mint", "a third value");
  tags_[1] = tags_[2] = tags_[0];
  EXPECT_EQ(value_of(get(CopyingLane(held_), "mine")), "my value");
  EXPECT_EQ(value_of(get(HostLane(), "mine")), "my value");
}

TEST_F(GetTest, a_tag_without_its_key_is_not_found) {
  set("other", "another value");
  const std::string absent = get(HostLane(), "mine");
  tags_[0] = tag_of(hash_of(bytes_of("mine"), 4));
  EXPECT_EQ(get(CopyingLane(held_), "mine"), absent);
  EXPECT_EQ(get(HostLane(), "mine"), absent);
}

TEST_F(GetTest, a_bucket_that_stays_odd_is_busy) {
  set("key", "value");
  ++versions_[0];
  for (const std::string& answer : {get(CopyingLane(held_), "key"), get(HostLane(), "key")}) {
    EXPECT_EQ(word16(bytes_of(answer) + frame_bytes + 6), static_cast<std::uint16_t>(Code::busy));
  }
}

}  // namespace
}  // namespace k2k::memcached
