#include "io/gpu/device_engines.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "io/file/refused_calls_fixture.hpp"
#include "io/memory/separate_memory_fixture.hpp"
#include "io/memory/vendor_library_fixture.hpp"

namespace k2k::io {
namespace {

const VendorLibraries nobodys{"libcuda-not-there.so", "libcufile-not-there.so",
                              "libhipfile-not-there.so"};

std::map<std::string, EngineChoice> choices(DeviceMemory& memory, const VendorLibraries& libraries,
                                            const std::string& proc = "/proc") {
  std::map<std::string, EngineChoice> all;
  for (const EngineChoice& each : engines_for(memory, libraries, proc)) {
    EXPECT_FALSE(each.says.empty()) << each.name;
    all[each.name] = each;
  }
  EXPECT_EQ(all.size(), 7u);
  return all;
}

bool says(const EngineChoice& choice, const char* text) {
  return choice.says.find(text) != std::string::npos;
}

TEST(EnginesFor, MemoryThatTheCpuCanAddressHasAllButTheVendors) {
  MappedMemory memory;
  const auto all = choices(memory, nobodys);
  for (const char* const name : {"buffered", "pool", "staging", "bar"}) {
    EXPECT_TRUE(all.at(name).there) << name;
  }
  EXPECT_EQ(all.at("uring").there, make_uring(1).ok());
  EXPECT_TRUE(says(all.at("cufile"), "for memory of a GPU alone"));
  EXPECT_FALSE(all.at("hipfile").there);
}

TEST(EnginesFor, OtherMemoryNamesTheReasonAgainstEachEngine) {
  SeparateMemory memory(page);
  const auto all = choices(memory, nobodys);
  EXPECT_TRUE(all.at("staging").there);
  EXPECT_TRUE(says(all.at("uring"), "read(2) does not reach this memory; take staging"));
  EXPECT_TRUE(says(all.at("bar"), "is not mapped"));
  EXPECT_TRUE(says(all.at("cufile"), "libcufile-not-there.so cannot be loaded"));
  EXPECT_TRUE(says(all.at("hipfile"), "libhipfile-not-there.so cannot be loaded"));
  memory.refuse_queues(ENOMEM);
  EXPECT_TRUE(says(choices(memory, nobodys).at("staging"), "raise ulimit -l"));
}

TEST(EnginesFor, VendorsLibrariesAreListedIfTheyOpen) {
  SeparateMemory memory(page);
  const std::string library = vendor_library();
  const OwnFiles proc;
  static_cast<void>(open_file(proc.path("modules"), O_WRONLY | O_CREAT));
  const auto all = choices(memory, {library, library, library}, proc.path(""));
  EXPECT_TRUE(all.at("cufile").there);
  EXPECT_TRUE(says(all.at("hipfile"), "by the vendor's library and driver"));
  EXPECT_EQ(vendor_control().opened, 0);
}

TEST(EnginesFor, ARefusedIoUringIsNamed) {
  const int status = where_refused(SYS_io_uring_setup, EPERM, [] {
    MappedMemory memory;
    const auto all = choices(memory, nobodys);
    return !all.at("uring").there && says(all.at("uring"), "kernel.io_uring_disabled") ? 0 : 1;
  });
  if (status == no_filter) GTEST_SKIP() << "no seccomp";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace k2k::io
