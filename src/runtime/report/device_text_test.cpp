// Goal: the text of a device file has the names and values of the statistics in JSON, one length
// whatever it holds, and shows if it was read during a write.

#include "runtime/report/device_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/report/device_text_fixture.hpp"
#include "runtime/report/stats_text.hpp"

namespace k2k {
namespace {

server::Stats with_calls(std::size_t count) {
  server::Stats stats;
  stats.device = {"cpu", 2, 64, 512, 1024, 65'536, 1 << 20, 7, 1};
  stats.requests = 123;
  stats.in_flight = 4;
  stats.governor.waits = 5;
  stats.governor.throttled_seconds = 0.25;
  for (std::size_t at = 0; at < count; ++at) {
    server::CallStats call;
    call.name = "call_" + std::to_string(at);
    call.count = 1'000 - at;
    call.errors = at;
    stats.calls.push_back(call);
  }
  return stats;
}

TEST(DeviceText, has_the_values_of_the_statistics_in_json) {
  const server::Stats stats = with_calls(2);
  const auto values = parse_device_text(to_device_text(stats, 9));
  ASSERT_EQ(values.at("sequence"), "9");
  EXPECT_EQ(values.at("end"), "9");
  const nlohmann::ordered_json json = to_json(stats);
  for (const auto& [name, value] : json["device"].items()) {
    EXPECT_EQ(values.at(name), value.is_string() ? value.get<std::string>() : value.dump()) << name;
  }
  for (const char* const name : {"requests", "in_flight", "refused", "doorbells", "wakes", "parks",
                                 "rescued", "hand_offs", "takeovers", "threads"}) {
    EXPECT_EQ(values.at(name), json[name].dump()) << name;
  }
  EXPECT_EQ(values.at("governor.waits"), "5");
  EXPECT_EQ(values.at("governor.throttled_us"), "250000");
  EXPECT_EQ(values.at("calls"), "2");
  EXPECT_EQ(values.at("call call_0"), "1000 0");
  EXPECT_EQ(values.at("call call_1"), "999 1");
}

TEST(DeviceText, has_one_length_and_keeps_its_end_with_any_number_of_calls) {
  for (const std::size_t calls : {0u, 1u, 100u, 400u}) {
    const std::string text = to_device_text(with_calls(calls), 12'345'678);
    EXPECT_EQ(text.size(), device_text_bytes);
    const auto values = parse_device_text(text);
    EXPECT_EQ(values.at("calls"), std::to_string(calls));
    EXPECT_EQ(values.at("end"), values.at("sequence"));
  }
}

}  // namespace
}  // namespace k2k
