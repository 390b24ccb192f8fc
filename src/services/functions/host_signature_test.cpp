// Goal: a signature as text means the same as the C++ types, and a mistake in it is named with its
// place.

#include "services/functions/host_signature.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "services/functions/host_callable.hpp"

namespace k2k::services {
namespace {

enum class Colour : std::uint16_t { red };
struct Odd {
  char bytes[24];
};

// The text that the types of Function give means what the compiler made of the types.
template <class Reply, class... Arguments>
void expect_same(const char* text, Reply (*function)(Arguments...)) {
  using Types = calls::HostTypes<Reply, Arguments...>;
  const HostFunction made =
      HostCallable<Reply(Arguments...)>::function("name", function, HostClass::may_block);
  EXPECT_EQ(made.signature, text);
  const Result<HostSignature> read = parse_host_signature(made.signature);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read.value().id, Types::signature);
  EXPECT_EQ(read.value().layout.shape(), Types::layout.shape());
  EXPECT_EQ(read.value().layout.frame_bytes(), Types::layout.frame_bytes());
  EXPECT_EQ(read.value().layout.reply_at(), Types::layout.reply_at());
  EXPECT_EQ(read.value().parameters.size(), sizeof...(Arguments));
}

TEST(HostSignature, of_types_and_of_text_is_the_same) {
  expect_same("void()", +[] {});
  expect_same("i32(i16,u64,f64)", +[](std::int16_t, std::uint64_t, double) { return 0; });
  expect_same("u8(u16,u64)", +[](Colour, const char*) { return true; });
  expect_same(
      "s24(s24,in s24,out f32,inout u8)",
      +[](Odd, In<Odd>, Out<float>, InOut<bool>) { return Odd{}; });
}

TEST(HostSignature, permits_spaces_around_types) {
  const auto spaced = parse_host_signature("  f64 ( i32 ,  in f32,out  u8 ) ");
  ASSERT_TRUE(spaced) << spaced.error().message;
  EXPECT_EQ(spaced.value().text, "f64(i32,in f32,out u8)");
  EXPECT_EQ(spaced.value().id, parse_host_signature("f64(i32,in f32,out u8)").value().id);
}

TEST(HostSignature, with_a_mistake_names_its_place) {
  const auto complaint = [](const char* text) {
    const auto read = parse_host_signature(text);
    EXPECT_FALSE(read) << text;
    if (read) return std::string();
    EXPECT_EQ(read.error().code, EINVAL);
    const std::string& message = read.error().message;
    return message.substr(message.find("at character"));
  };
  const std::string reply = "expected a type such as i32, u8, f64, s24 or void";
  const std::string parameter = "expected a type such as i32, u8, f64 or s24, or in, out, inout";
  EXPECT_EQ(complaint(""), "at character 1: " + reply);
  EXPECT_EQ(complaint("i"), "at character 1: " + reply);
  EXPECT_EQ(complaint("i33()"), "at character 1: " + reply);
  EXPECT_EQ(complaint("f8()"), "at character 1: " + reply);
  EXPECT_EQ(complaint("s0()"), "at character 1: " + reply);
  EXPECT_EQ(complaint("i08()"), "at character 1: " + reply);
  EXPECT_EQ(complaint("s4097()"), "at character 1: " + reply);
  EXPECT_EQ(complaint("i99999999999999999999()"), "at character 1: " + reply);
  EXPECT_EQ(complaint("i32"), "at character 4: expected \"(\" behind the reply's type");
  EXPECT_EQ(complaint("i32("), "at character 5: " + parameter);
  EXPECT_EQ(complaint("i32(u8"), "at character 7: expected \",\" or \")\" behind a parameter");
  EXPECT_EQ(complaint("i32(u8,)"), "at character 8: " + parameter);
  EXPECT_EQ(complaint("i32(in)"), "at character 5: " + parameter);
  EXPECT_EQ(complaint("i32(void)"), "at character 5: " + parameter);
  EXPECT_EQ(complaint("i32() x"), "at character 7: expected nothing behind \")\"");
}

TEST(HostSignature, takes_frames_up_to_a_limit) {
  EXPECT_TRUE(parse_host_signature("void(s4096)"));
  const auto more = parse_host_signature("void(s4096,u8)");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, EMSGSIZE);
  EXPECT_EQ(more.error().message,
            "arguments and reply of the signature \"void(s4096,u8)\" take 4104 bytes, at most 4096 "
            "are possible: pass a buffer");
  std::string buffers = "void(in u8";
  for (int index = 1; index < 256; ++index) buffers += ",in u8";
  EXPECT_TRUE(parse_host_signature(buffers + ")"));
  EXPECT_FALSE(parse_host_signature(buffers + ",in u8)"));
}

}  // namespace
}  // namespace k2k::services
