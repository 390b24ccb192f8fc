// Goal: k2k doctor grades each check, and gives a reason and a remedy for each that is not ok.

#include <fmt/format.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>

#include "io/file/refused_calls_fixture.hpp"
#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::doctor_test {
namespace {

using nlohmann::json;

class Doctor : public Program {};

TEST_F(Doctor, grades_every_check) {
  const Outcome outcome = run("doctor --json");
  bool failed = false;
  for (const json& check : json::parse(outcome.out)) {
    const std::string grade = check["grade"];
    EXPECT_TRUE(grade == "ok" || grade == "warn" || grade == "fail");
    EXPECT_TRUE(grade == "ok" || check["fix"] != "") << check;
    EXPECT_NE(check["why"], "") << check;
    failed = failed || grade == "fail";
  }
  EXPECT_EQ(outcome.status, failed ? 1 : 0);
}

TEST_F(Doctor, names_the_walls_that_the_kernel_lacks) {
  // 0: the check of this name warns, and names the reason and a remedy.
  const auto warning_without = [this](unsigned number, const std::string& name) {
    return io::where_refused(number, ENOSYS, [&] {
      for (const json& check : json::parse(run("doctor --json").out)) {
        if (check["name"] != name) continue;
        const std::string fix = check["fix"];
        const bool warns = check["grade"] == "warn" &&
                           check["found"] == "Function not implemented" &&
                           fix.find("profile") != std::string::npos;
        return warns ? 0 : 1;
      }
      return 2;
    });
  };
  constexpr unsigned landlock_create_ruleset_number = 444;
  EXPECT_EQ(warning_without(SYS_seccomp, "seccomp"), 0);
  EXPECT_EQ(warning_without(landlock_create_ruleset_number, "Landlock"), 0);
}

TEST_F(Doctor, tells_which_memory_the_policy_names) {
  const auto told = [this](const std::string& ranges) -> json {
    const std::string policy = ranges.empty() ? "io" : "[memory]\nranges = [" + ranges + "]\n";
    for (const json& check :
         json::parse(run("doctor --json --server-policy '" + policy + "'").out)) {
      if (check["name"] == "memory ranges") return check;
    }
    return {};
  };
  const auto expect = [&](const std::string& ranges, const std::string& grade,
                          const std::string& found) {
    const json check = told(ranges);
    EXPECT_EQ(check["grade"], grade) << check;
    EXPECT_EQ(check["found"], found);
    EXPECT_TRUE(grade == "ok" || check["fix"] != "") << check;
  };
  expect("", "ok", "none: server.policy is no file");
  expect(R"("kernels")", "ok", "\"kernels\"");
  expect(R"("kernels", "0x7f5000000000+65536")", "ok",
         "\"kernels\" and 1 of the program's addresses; only that process knows whether it is "
         "mapped there");
  expect(R"("0x7f5000000000+65536", "0x7f6000000000+1")", "warn",
         "2 of the program's addresses; only that process knows whether they are mapped there; "
         "without \"kernels\", wrappers and stacks are refused");
  expect(R"("kernels", "0x7f5000000000+65536", "0x7f5000000fff+65536")", "warn",
         "\"kernels\" and 2 of the program's addresses; only that process knows whether they are "
         "mapped there; 0x7f5000000fff+65536 begins in another");
  for (const char* const range :
       {"0x0+16", "0x1000+4096", "0x7fffffffe000+8192", "0xffff800000000000+4096"}) {
    expect(fmt::format(R"("kernels", "{}")", range), "warn",
           fmt::format("{} is not mapped as a whole in any program: addresses are 0x10000 to "
                       "0x7fffffffefff",
                       range));
  }
  const json wrong = told("7");
  EXPECT_EQ(wrong["grade"], "fail");
  EXPECT_EQ(wrong["found"],
            "server.policy:2:11: memory.ranges has an entry that is no range of memory; expected: "
            "\"kernels\", or an address and a number of bytes, such as \"0x7f5000000000+65536\"");
}

}  // namespace
}  // namespace k2k::end_to_end::doctor_test
