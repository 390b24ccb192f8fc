// Goal: parse() never trusts a length: garbage and cut datagrams are garbage, for every cut and for
// random bytes; a correct request is taken apart exactly.

#include "apps/memcached/protocol.hpp"

#include <gtest/gtest.h>

#include <random>

#include "apps/memcached/client.hpp"

namespace k2k::memcached {
namespace {

// Copies to a block of the exact size, so that a sanitizer detects a read beyond it.
Request parse_exact(const std::string& datagram, std::vector<unsigned char>& exact) {
  exact.assign(datagram.begin(), datagram.end());
  return parse(exact.data(), exact.size());
}

const std::string extras(8, '\1');

TEST(Protocol, takes_a_request_apart) {
  std::vector<unsigned char> bytes;
  const Request request = parse_exact(request_of(7, 1, extras, "key", "value", 9), bytes);
  EXPECT_EQ(request.kind, Kind::other);
  EXPECT_EQ(request.opcode, opcode_set);
  EXPECT_EQ(std::string(request.key, request.key + request.key_bytes), "key");
  EXPECT_EQ(std::string(request.value, request.value + request.value_bytes), "value");
  EXPECT_EQ(word32(request.extras), 0x01010101u);
  EXPECT_EQ(request.cas, 9u);
  EXPECT_EQ(parse_exact(request_of(7, 0, "", "key", "", 0), bytes).kind, Kind::get);
  // A GET that is wrong in itself is for the threads, which answer that.
  EXPECT_EQ(parse_exact(request_of(7, 0, "", "", "", 0), bytes).kind, Kind::other);
  EXPECT_EQ(parse_exact(request_of(7, 0, "", "key", "x", 0), bytes).kind, Kind::other);
  EXPECT_EQ(parse_exact(request_of(7, 0, "", std::string(251, 'k'), "", 0), bytes).kind,
            Kind::other);
}

TEST(Protocol, drops_every_cut_and_every_longer_datagram) {
  std::vector<unsigned char> bytes;
  for (const std::string& whole :
       {request_of(7, 1, extras, "key", "value", 9), request_of(7, 0, "", "key", "", 0)}) {
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      EXPECT_EQ(parse_exact(whole.substr(0, cut), bytes).kind, Kind::garbage) << cut;
    }
    EXPECT_EQ(parse_exact(whole + "x", bytes).kind, Kind::garbage);
  }
}

TEST(Protocol, never_reads_or_points_outside_of_random_bytes) {
  std::mt19937 random(1);
  std::vector<unsigned char> bytes;
  int requests = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string datagram =
        request_of(1, static_cast<std::uint8_t>(random() % 4), extras,
                   std::string(random() % 20, 'k'), std::string(random() % 20, 'v'), 0);
    for (int change = static_cast<int>(random() % 4); change > 0; --change) {
      datagram[random() % datagram.size()] = static_cast<char>(random());
    }
    const Request request = parse_exact(datagram, bytes);
    if (request.kind == Kind::garbage) continue;
    ++requests;
    EXPECT_EQ(request.extras, bytes.data() + frame_bytes + header_bytes);
    EXPECT_EQ(request.extras + request.extras_bytes, request.key);
    EXPECT_EQ(request.key + request.key_bytes, request.value);
    EXPECT_EQ(request.value + request.value_bytes, bytes.data() + bytes.size());
  }
  EXPECT_GT(requests, 1000);
}

}  // namespace
}  // namespace k2k::memcached
