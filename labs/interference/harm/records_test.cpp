// Goal: records that cannot be written or read are refused with the reason.

#include "labs/interference/harm/records.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace k2k::labs::harm {
namespace {

TEST(HarmRecords, are_refused_with_the_reason) {
  Records records;
  ASSERT_TRUE(records.open("/dev/full").ok());
  EXPECT_EQ(records.write({{"kind", "plan"}}).error().message,
            "cannot write /dev/full: No space left on device; the runs so far are kept there: make "
            "room and run again with --resume");
  Records nowhere;
  EXPECT_EQ(nowhere.open("/nowhere/x").error().message,
            "cannot write /nowhere/x: No such file or directory; name another file with --out");
  const std::string path = testing::TempDir() + "k2k_wrong_" + std::to_string(::getpid());
  const auto refusal = [&](const char* text) {
    std::ofstream(path) << text;
    return load_records(path).error().message;
  };
  EXPECT_NE(refusal("{\"kind\":\"plan\",\"schema\":0}\n").find("has records of schema 0"),
            std::string::npos);
  EXPECT_NE(refusal("[1]\n{}\n").find("line 1 is no record"), std::string::npos);
  EXPECT_NE(refusal("").find("has no plan"), std::string::npos);
  ::unlink(path.c_str());
  EXPECT_EQ(load_records(path).error().code, ENOENT);
}

}  // namespace
}  // namespace k2k::labs::harm
