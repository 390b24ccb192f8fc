// Goal: k2k info describes the device that is configured, and the TLBs and huge pages of the
// machine. Method: runs the binary named by K2K_CLI.

#include <cstdint>
#include <string>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::info_test {
namespace {

using nlohmann::json;

class Info : public Program {};

TEST_F(Info, describes_the_configured_device_and_what_the_machine_translates_with) {
  const Outcome outcome = run("info --json --device-compute-units 2 --device-wave-lanes=64");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json info = json::parse(outcome.out);
  EXPECT_EQ(info["device"]["compute_units"], 2);
  EXPECT_EQ(info["device"]["wave_lanes"], 64);
  const std::uint64_t items = info["device"]["resident_work_items"];
  EXPECT_EQ(info["syscall_area"]["slots_bytes"], 64 * items);
  EXPECT_GT(info["resident_bytes"], 0);
  const json& tlbs = info["cpu_tlbs"];
  EXPECT_EQ(tlbs["tlbs"].empty(), tlbs["source"] == "");
  for (const json& tlb : tlbs["tlbs"]) {
    EXPECT_GT(tlb["level"], 0) << tlb;
    EXPECT_GT(tlb["entries"], 0) << tlb;
    EXPECT_FALSE(tlb["pages"].empty()) << tlb;
  }
  const json& pages = info["huge_pages"];
  for (const char* const key : {"page_bytes", "enabled", "defrag", "shmem_enabled"}) {
    EXPECT_TRUE(pages["transparent"].contains(key)) << pages;
  }
  for (const json& pool : pages["reserved"]) {
    EXPECT_GE(pool["total"], pool["free"]) << pool;
    EXPECT_GT(pool["page_bytes"], 4096) << pool;
  }
  const Outcome text = run("info");
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("\nhuge pages "), std::string::npos) << text.out;
  const char* const heading =
      tlbs["tlbs"].empty() ? "not reported: the CPU, or the hypervisor, " : "reported by CPUID ";
  EXPECT_NE(text.out.find(heading), std::string::npos) << text.out;
}

}  // namespace
}  // namespace k2k::end_to_end::info_test
