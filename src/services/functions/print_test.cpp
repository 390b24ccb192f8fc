// Goal: a format is accepted if, and only if, it suits the arguments; the host formats as fmt does,
// and forged values give an error.

#include "services/functions/print.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace k2k::services {
namespace {

using calls::PrintFault;
using calls::PrintType;
using calls::PrintValue;

PrintFault fault(std::string_view format, std::vector<PrintType> types) {
  return calls::print_fault(format.data(), format.size(), types.data(), types.size());
}

PrintValue value_of(PrintType type, std::uint64_t bits = 0) {
  return {static_cast<std::uint64_t>(type), bits};
}

// The text, or the errno.
std::string formatted(std::string_view format, const std::vector<PrintValue>& values,
                      std::vector<std::string> texts = {}) {
  std::vector<HostSpan> spans;
  for (std::string& text : texts) spans.push_back({text.data(), text.size()});
  std::string text;
  const std::int64_t refusal = format_print(text, format, values, spans);
  return refusal == 0 ? text : std::to_string(refusal);
}

TEST(PrintFormat, that_suits_no_arguments_is_told_from_one_that_does) {
  constexpr auto integer = PrintType::integer;
  constexpr auto number = PrintType::number;
  constexpr auto text = PrintType::text;
  EXPECT_EQ(fault("", {}), PrintFault::none);
  EXPECT_EQ(fault("{{}}", {}), PrintFault::none);
  EXPECT_EQ(fault("{}", {integer}), PrintFault::none);
  EXPECT_EQ(fault("{", {integer}), PrintFault::open_brace);
  EXPECT_EQ(fault("}", {}), PrintFault::open_brace);
  EXPECT_EQ(fault("{}}", {integer}), PrintFault::open_brace);
  EXPECT_EQ(fault("{:", {integer}), PrintFault::open_brace);
  EXPECT_EQ(fault("{}{}", {integer}), PrintFault::too_few);
  EXPECT_EQ(fault("{}", {integer, integer}), PrintFault::too_many);
  EXPECT_EQ(fault("{0}", {integer}), PrintFault::wrong_options);
  EXPECT_EQ(fault("{name}", {integer}), PrintFault::wrong_options);
  EXPECT_EQ(fault("{:{}}", {integer, integer}), PrintFault::wrong_options);
  EXPECT_EQ(fault("{:>+#010x}", {integer}), PrintFault::none);
  EXPECT_EQ(fault("{:*^9.3f}", {number}), PrintFault::none);
  EXPECT_EQ(fault("{:.3}", {text}), PrintFault::none);
  EXPECT_EQ(fault("{:.3}", {integer}), PrintFault::wrong_options);
  EXPECT_EQ(fault("{:.}", {number}), PrintFault::wrong_options);
  EXPECT_EQ(fault("{:s}", {integer}), PrintFault::wrong_options);
  EXPECT_EQ(fault("{:d}", {text}), PrintFault::wrong_options);
  EXPECT_EQ(fault("{:+}", {PrintType::natural}), PrintFault::wrong_options);
  EXPECT_EQ(fault("{:9999}", {integer}), PrintFault::none);
  EXPECT_EQ(fault("{:10000}", {integer}), PrintFault::wrong_options);
}

TEST(PrintFormat, gives_the_text_that_fmt_gives) {
  EXPECT_EQ(formatted("{} {}", {value_of(PrintType::integer, ~std::uint64_t{0}),
                                value_of(PrintType::natural, ~std::uint64_t{0})}),
            "-1 18446744073709551615");
  EXPECT_EQ(formatted("{:.2f} {}",
                      {value_of(PrintType::number, std::bit_cast<std::uint64_t>(2.0)),
                       value_of(PrintType::number, std::bit_cast<std::uint64_t>(std::nan("")))}),
            "2.00 nan");
  EXPECT_EQ(formatted("{}{:d}{}", {value_of(PrintType::boolean, 1), value_of(PrintType::boolean, 7),
                                   value_of(PrintType::character, 'c')}),
            "true1c");
  EXPECT_EQ(formatted("{}", {value_of(PrintType::pointer, 0xff)}), "0xff");
  EXPECT_EQ(formatted("[{}] [{:>4}]", {value_of(PrintType::text), value_of(PrintType::text)},
                      {std::string("a\0b", 3), "x"}),
            std::string("[a\0b] [   x]", 12));
}

// What is accepted by the check is accepted by fmt: no option gives an exception.
TEST(PrintFormat, that_passes_the_check_is_formatted) {
  constexpr PrintType types[] = {PrintType::integer,   PrintType::natural, PrintType::number,
                                 PrintType::character, PrintType::boolean, PrintType::text,
                                 PrintType::pointer};
  int accepted = 0;
  for (const PrintType type : types) {
    for (const std::string fill : {"", "<", "*^", "0>"}) {
      for (const std::string sign : {"", "+", "-", " "}) {
        for (const std::string flag : {"", "#", "0", "#0"}) {
          for (const std::string width : {"", "7", "7.3", ".3"}) {
            for (const char letter : std::string("\0dbBoxXaAeEfFgGcsp", 18)) {
              std::string format = "{:" + fill + sign + flag + width;
              if (letter != '\0') format += letter;
              format += "}";
              if (fault(format, {type}) != PrintFault::none) continue;
              ++accepted;
              const bool is_text = type == PrintType::text;
              EXPECT_NE(formatted(format, {value_of(type, 65)},
                                  is_text ? std::vector<std::string>{"text"}
                                          : std::vector<std::string>{}),
                        "-22")
                  << format << " of type " << static_cast<int>(type);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(accepted, 500);
}

TEST(PrintFormat, with_forged_values_is_refused) {
  EXPECT_EQ(formatted("{}", {{7, 0}}), "-22") << "there is no such type";
  EXPECT_EQ(formatted("{}", {{std::numeric_limits<std::uint64_t>::max(), 0}}), "-22");
  EXPECT_EQ(formatted("{}", {value_of(PrintType::text)}), "-22") << "its text is missing";
  EXPECT_EQ(formatted("{}", {value_of(PrintType::integer)}, {"text"}), "-22") << "a text too many";
  EXPECT_EQ(formatted("{}", {}), "-22");
  EXPECT_EQ(formatted("{:d}", {value_of(PrintType::text)}, {"text"}), "-22");
}

}  // namespace
}  // namespace k2k::services
