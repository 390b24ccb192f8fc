// Goal: in a ThreadSanitizer build, device code is checked for data races: a planted one is
// reported, and its corrected twin is not.
// Method: each runs in a child process whose standard error is read. Other builds have no such
// test.

#ifdef K2K_TSAN

#include <sys/wait.h>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::data_race_test {
namespace {

class DataRace : public DeviceUnderTest {
 protected:
  // The child's standard error.
  template <class Kernel>
  std::string report_of(const Kernel& body) {
    const TemporaryFile output;
    // No thread may live here: ThreadSanitizer forbids its child new ones.
    static_cast<void>(status_of_child([&] {
      ::dup2(output.fd, STDERR_FILENO);
      Runtime runtime = start();
      launch(runtime, 2, 8, body);
    }));
    return output.content();
  }
};
K2K_EVERY_DEVICE(DataRace);

TEST_P(DataRace, between_two_work_items_of_a_group_is_reported) {
  // A work-item that begins later is ordered behind the calls that its unit has served.
  if (GetParam().on_units) GTEST_SKIP() << "a unit that serves orders its work-items";
  const std::string report = report_of([] {
    K2K_LOCAL(int[2], counts);
    counts[0] += 1;  // The planted race: nothing orders the work-items.
    k2k::getpid(k2k::work_item);
  });
  EXPECT_NE(report.find("WARNING: ThreadSanitizer: data race"), std::string::npos) << report;
  EXPECT_NE(report.find("data_race_test.cpp"), std::string::npos) << report;
}

TEST_P(DataRace, is_not_reported_where_a_barrier_stands) {
  const std::string report = report_of([] {
    K2K_LOCAL(int[8], counts);
    counts[item_rank()] += 1;
    k2k::barrier();
    if (item_rank() == 0) counts[0] += counts[7];
    k2k::getpid(k2k::work_group);
    if (counts[0] != 2) ::abort();
  });
  EXPECT_EQ(report, "");
}

}  // namespace
}  // namespace k2k::conformance::data_race_test

#endif  // K2K_TSAN
