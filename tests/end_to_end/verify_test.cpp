// Goal: k2k calls --verify says of each call that it cannot compare which object or namespace Linux
// refuses.
// Method: runs the binary named by K2K_CLI where a filter refuses calls, as that of a container.

#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "io/file/refused_calls_fixture.hpp"
#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::verify_test {
namespace {

using nlohmann::json;

class Verify : public Program {};

TEST_F(Verify, calls_whose_objects_linux_does_not_make_are_named_with_the_reason) {
  const std::string folder = testing::TempDir() + "k2k_verify_" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  // 0: the calls of this prefix, and no others, are unverifiable, and no object is left.
  const auto verified_without = [&](unsigned number, const std::vector<std::string>& prefixes) {
    return io::where_refused(number, ENOSYS, [&] {
      ::setenv("TMPDIR", folder.c_str(), 1);
      const Outcome outcome = run("calls --verify --family ipc --json");
      const json shown = json::parse(outcome.out);
      int named = 0;
      for (const json& call : shown["calls"]) {
        const std::string name = call["name"];
        const bool missing = std::ranges::any_of(
            prefixes, [&](const std::string& prefix) { return name.starts_with(prefix); });
        const bool said =
            call["outcome"] == "unverifiable" &&
            std::string(call["notes"][0]).find("Function not implemented") != std::string::npos;
        // A device that does not reach the host's pages refuses shmat first.
        if (missing != said && call["outcome"] != "refused") return 1;
        named += said ? 1 : 0;
      }
      if (named < 5 || shown["mismatched"] != 0 || outcome.status != 0) return 2;
      return std::filesystem::is_empty(folder) ? 0 : 3;
    });
  };
  EXPECT_EQ(verified_without(SYS_mq_open, {"mq_"}), 0);
  EXPECT_EQ(verified_without(SYS_msgget, {"msg", "sem", "shm"}), 0);
  std::filesystem::remove_all(folder);
}

TEST_F(Verify, a_namespace_that_linux_refuses_is_named_with_the_calls_that_need_it) {
  struct Expected {
    std::vector<std::string> spaces;
    std::vector<std::string> calls;
    std::vector<std::string> families;
  };
  // 0: these namespaces and calls are named, and no others.
  const auto named_without = [this](unsigned flags, const Expected& expected) {
    return io::where_refused(
        SYS_unshare, EPERM,
        [&] {
          std::vector<std::string> spaces;
          std::vector<std::string> calls;
          for (const std::string& family : expected.families) {
            const Outcome outcome = run("calls --verify --json --family " + family);
            const json shown = json::parse(outcome.out);
            if (outcome.status != 0 || shown["isolated"] != false) return 1;
            spaces.clear();
            for (const json& missing : shown["missing_namespaces"]) {
              spaces.push_back(missing["namespace"]);
              const std::string reason = missing["reason"];
              if (reason.find("namespace (Operation not permitted); run as root") ==
                  std::string::npos)
                return 2;
              for (const json& name : missing["unverifiable"]) calls.push_back(name);
            }
          }
          std::ranges::sort(calls);
          return spaces == expected.spaces && calls == expected.calls ? 0 : 3;
        },
        flags);
  };
  const std::vector<std::string> of_ipc = {"mq_open", "mq_unlink", "msgget", "semget", "shmget"};
  std::vector<std::string> all = of_ipc;
  all.insert(all.end(), {"sethostname", "setdomainname"});
  std::ranges::sort(all);
  EXPECT_EQ(named_without(0, {{"network", "ipc", "uts"}, all, {"ipc", "network"}}), 0);
  EXPECT_EQ(named_without(CLONE_NEWIPC, {{"ipc"}, of_ipc, {"ipc"}}), 0);
  EXPECT_EQ(named_without(CLONE_NEWNET, {{"network"}, {}, {"time"}}), 0);
}

TEST_F(Verify, the_last_line_names_the_namespaces_that_linux_refuses) {
  const int status = io::where_refused(SYS_unshare, EPERM, [&] {
    const std::string out = run("calls --verify --family time").out;
    const std::string end =
        "; unverifiable without the network namespace: none; unverifiable without the ipc "
        "namespace: none; unverifiable without the uts namespace: none\n";
    return out.ends_with(end) ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace k2k::end_to_end::verify_test
