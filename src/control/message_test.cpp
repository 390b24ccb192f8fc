// Goal: for any bytes, a request is either parsed completely or refused with a message. Each end
// reads the messages that the other end writes.

#include "control/message.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <random>

namespace k2k::control {
namespace {

using nlohmann::ordered_json;

std::string refusal(std::string_view line) {
  const Result<ControlRequest> request = parse_request(line);
  if (request) return "understood";
  EXPECT_EQ(request.error().code, EINVAL);
  return request.error().message;
}

TEST(ControlMessage, request_arrives_as_it_was_sent) {
  const ControlRequest sent{RequestKind::set, false, {{"cap", "5%"}, {"bottom_half", "split"}}};
  const std::string line = request_line(sent);
  EXPECT_EQ(
      line,
      "{\"version\":1,\"request\":\"set\",\"values\":{\"cap\":\"5%\",\"bottom_half\":\"split\"}"
      "}\n");
  const Result<ControlRequest> got =
      parse_request(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value().kind, RequestKind::set);
  EXPECT_EQ(got.value().values, sent.values);

  const Result<ControlRequest> show = parse_request(request_line({RequestKind::show, true, {}}));
  ASSERT_TRUE(show.ok());
  EXPECT_EQ(show.value().kind, RequestKind::show);
  EXPECT_TRUE(show.value().latency);
}

TEST(ControlMessage, malformed_request_is_refused_with_the_mistake) {
  constexpr const char* no_object =
      "control: a request is one JSON object on a line, of little depth";
  for (const std::string_view line :
       {"", "{", "[]", "1", "null", "\"show\"", "{}x", "{\"version\":1,\"request\":\"show\"",
        "{\"version\":1,}", "{\"a\":\"\xff\"}"}) {
    EXPECT_EQ(refusal(line), no_object) << line;
  }
  EXPECT_EQ(refusal(std::string_view("{\"version\":1\0}", 14)), no_object);
  EXPECT_EQ(refusal("{}"), "control: a request without \"version\"");
  EXPECT_EQ(refusal("{\"version\":2}"),
            "control: version 2, this process speaks 1; use the k2k that belongs to it");
  EXPECT_EQ(refusal("{\"version\":\"1\"}").find("control: version \"1\""), 0u);
  EXPECT_EQ(refusal("{\"version\":1.0}").find("control: version 1.0"), 0u);
  EXPECT_EQ(refusal("{\"version\":1}"), "control: no \"request\"; permitted: show, set");
  EXPECT_EQ(refusal("{\"version\":1,\"request\":5}"),
            "control: no \"request\"; permitted: show, set");
  EXPECT_EQ(refusal("{\"version\":1,\"request\":\"halt\"}"),
            "control: no such request: \"halt\"; permitted: show, set");
  EXPECT_EQ(refusal("{\"version\":1,\"request\":\"show\",\"more\":1}"),
            "control: unknown key \"more\" in a request");
  EXPECT_EQ(refusal("{\"version\":1,\"request\":\"show\",\"latency\":1}"),
            "control: \"latency\" is neither true nor false");
  constexpr const char* no_values =
      "control: \"set\" wants \"values\", an object with at least one key";
  EXPECT_EQ(refusal("{\"version\":1,\"request\":\"set\"}"), no_values);
  EXPECT_EQ(refusal("{\"version\":1,\"request\":\"set\",\"values\":{}}"), no_values);
  EXPECT_EQ(refusal("{\"version\":1,\"request\":\"set\",\"values\":[\"cap\"]}"), no_values);
  EXPECT_EQ(refusal("{\"version\":1,\"request\":\"set\",\"values\":{\"cap\":5}}"),
            "control: the value of \"cap\" is no string");
}

TEST(ControlMessage, huge_or_deep_request_is_refused) {
  EXPECT_EQ(refusal(std::string(request_bytes_max + 1, ' ')),
            "control: a request of more than 16384 bytes");
  const std::string nested = std::string(8000, '[') + std::string(8000, ']');
  EXPECT_NE(refusal("{\"version\":1,\"request\":" + nested + "}").find("of little depth"),
            std::string::npos);
  ordered_json many{{"version", 1}, {"request", "set"}};
  for (int key = 0; key < 65; ++key) many["values"][std::to_string(key)] = "x";
  EXPECT_EQ(refusal(many.dump()), "control: 65 values at once; permitted are 64");
}

TEST(ControlMessage, results_and_refusals_come_back) {
  const Result<ordered_json> result = parse_reply(success_line({{"stats", {{"requests", 3}}}}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value()["stats"]["requests"], 3);
  const Result<ordered_json> refused = parse_reply(failure_line({EINVAL, "no, \xff"}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, EINVAL);
  EXPECT_EQ(refused.error().message, "no, \xef\xbf\xbd") << "invalid UTF-8 is replaced";
}

TEST(ControlMessage, malformed_answer_is_named_as_such) {
  const std::string deep =
      "{\"version\":1,\"ok\":true,\"result\":{\"a\":" + std::string(100'000, '[') +
      std::string(100'000, ']') + "}}";
  for (const std::string& line :
       {std::string(), std::string("HTTP/1.1 200 OK"), std::string("{\"version\":1}"),
        std::string("{\"version\":9,\"ok\":true,\"result\":{}}"),
        std::string("{\"version\":1,\"ok\":true,\"result\":[]}"),
        std::string("{\"version\":1,\"ok\":false,\"error\":1,\"errno\":1}"), deep}) {
    const Result<ordered_json> reply = parse_reply(line);
    ASSERT_FALSE(reply.ok()) << line;
    EXPECT_EQ(reply.error().code, EPROTO);
  }
}

// From fixed seeds: bytes of valid requests are changed, cut, doubled and mixed. The sanitizers
// check the same runs.
TEST(ControlMessage, mutilated_bytes_are_parsed_or_refused) {
  const std::vector<std::string> seeds = {
      request_line({RequestKind::show, true, {}}),
      request_line({RequestKind::set, false, {{"cap", "5%"}, {"cores", "0,2-3"}}}),
      success_line({{"stats", {{"calls", ordered_json::array({1, 2.5, "x"})}}}}),
      failure_line({EINVAL, "message"})};
  std::mt19937 random(20260101);
  const auto below = [&](std::size_t count) {
    return static_cast<std::size_t>(random()) % std::max<std::size_t>(count, 1);
  };
  std::size_t understood = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string line = seeds[below(seeds.size())];
    for (std::size_t change = below(4) + 1; change > 0; --change) {
      const std::size_t at = below(line.size());
      switch (below(5)) {
        case 0:
          if (!line.empty()) line[at] = static_cast<char>(random());
          break;
        case 1:
          line.resize(at);
          break;
        case 2:
          line.insert(at, 1, "{}[]\",:\\\0e-"[below(11)]);
          break;
        case 3:
          line.insert(at, seeds[below(seeds.size())]);
          break;
        default:
          line.erase(at, below(8));
      }
    }
    const Result<ControlRequest> request = parse_request(line);
    ++(request ? understood : refused);
    EXPECT_TRUE(request || !request.error().message.empty());
    static_cast<void>(parse_reply(line).ok());
  }
  EXPECT_GT(understood, 100u) << "some changes do not matter";
  EXPECT_GT(refused, 10'000u);
}

}  // namespace
}  // namespace k2k::control
