// Goal: k2k lab governor and k2k lab trace print the rows that scripts and CI read, and refuse
// impossible options. Method: runs the binary named by K2K_CLI.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::lab_test {
namespace {

using k2k::end_to_end::Outcome;
using k2k::end_to_end::Program;
using nlohmann::json;

class Lab : public Program {
 protected:
  // The output includes standard error.
  [[nodiscard]] Outcome governor(const std::string& arguments) const {
    return run("lab governor " + arguments + " 2>&1");
  }

  json result(const std::string& arguments) {
    const Outcome outcome = governor("--json " + arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.out;
    json object = json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(object.is_object()) << outcome.out;
    return object.is_object() ? object : json::object();
  }
  json rows(const std::string& arguments) {
    return result("--simulate " + arguments).value("rows", json::array());
  }

  void expect_refused(const std::string& arguments, const std::string& message) {
    const Outcome outcome = governor(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "k2k: lab governor: " + message + "\n");
  }
};

TEST_F(Lab, the_simulated_table_has_the_budget_at_its_caps) {
  int budgets = 0;
  for (const json& row : rows("")) {
    for (const char* key : {"cap", "share", "worst_100ms", "throughput", "per_cpu_s", "of_ideal"}) {
      EXPECT_TRUE(row[key].is_number()) << key;
    }
    EXPECT_EQ(row["load"], "study");
    if (row["policy"] != "budget") continue;
    ++budgets;
    const double cap = row["cap"];
    EXPECT_NEAR(row["share"].get<double>(), cap, 0.01 * cap) << row;
    EXPECT_GE(row["of_ideal"].get<double>(), 0.97) << row;
  }
  EXPECT_EQ(budgets, 3);
}

TEST_F(Lab, a_load_from_options_gives_one_row_per_policy) {
  const json all = rows("--cores 2 --cap 3% --service fixed:20 --outstanding 8 --offered 5000");
  ASSERT_EQ(all.size(), 5u);
  const json one = rows("--cap 0.03 --policy budget --seed 3");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["policy"], "budget");
  EXPECT_EQ(one[0]["cap"], 0.03);
  EXPECT_EQ(one, rows("--cap 3% --policy budget --seed 3"));
  EXPECT_EQ(rows("--cap 0.03 --policy none,backoff").size(), 2u);
}

TEST_F(Lab, people_get_a_table) {
  const Outcome outcome = governor("--simulate --cap 5% --policy budget");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("worst 100 ms"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("5.00 %"), std::string::npos) << outcome.out;
}

void expect_real_row(const json& row, const char* policy, double cap) {
  EXPECT_EQ(row["policy"], policy);
  EXPECT_EQ(row["load"], "real: random bytes");
  EXPECT_EQ(row["cap"], cap);
  for (const char* key : {"share", "worst_100ms", "ledger_share"}) {
    EXPECT_GT(row.value(key, -1.0), 0) << key << " of " << row;
    EXPECT_LE(row.value(key, 9.0), 1.1) << key << " of " << row;
  }
  EXPECT_GE(row.value("worst_100ms", 0.0), 0.95 * row.value("share", 1.0)) << row;
  EXPECT_GT(row.value("throughput", 0.0), 0) << row;
  EXPECT_GT(row.value("per_cpu_s", 0.0), 0) << row;
  EXPECT_GT(row.value("service_us", 0.0), 0.1) << row;
  EXPECT_GE(row.value("waits", -1.0), 0) << row;
  EXPECT_GE(row.value("forced", -1), 0) << row;
}

TEST_F(Lab, real_threads_give_the_same_keys_seen_from_outside) {
  const json both = result("--seconds 1 --policy none,budget --cap 25%");
  ASSERT_EQ(both["rows"].size(), 2u) << both;
  expect_real_row(both["rows"][0], "none", 1);
  EXPECT_TRUE(both["rows"][0]["of_ideal"].is_null());
  expect_real_row(both["rows"][1], "budget", 0.25);
  EXPECT_GT(both["rows"][1]["of_ideal"].get<double>(), 0) << both;
  EXPECT_GE(both["cores"], 1);
  EXPECT_GT(both["service_us"].get<double>(), 0.1) << both;
  EXPECT_EQ(both["seconds"], 1);
}

TEST_F(Lab, real_threads_are_always_compared_with_no_cap) {
  const Outcome outcome = governor("--seconds 1 --policy backoff --cap 25%");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("server's view"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\nbackoff"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("\nnone"), std::string::npos) << outcome.out;
}

TEST_F(Lab, real_threads_run_under_the_policies_with_sensors_beside_cpu_programs) {
  const json both = result("--seconds 1 --policy none,displaced,auto --cap 5% --busy 50%");
  ASSERT_EQ(both["rows"].size(), 3u) << both;
  expect_real_row(both["rows"][1], "displaced", 0.05);
  expect_real_row(both["rows"][2], "auto", 0.05);
  for (const json& row : both["rows"]) {
    EXPECT_EQ(row["busy"], 0.5);
    EXPECT_TRUE(row["cpu_loss"].is_number()) << row;
    EXPECT_LT(row["cpu_loss"].get<double>(), 1) << row;
    EXPECT_EQ(row["cpu_loss_pairs"], 1) << row;
    EXPECT_GT(row["device_share"].get<double>(), 0) << row;
  }
  EXPECT_EQ(both["rows"][1]["sensors"], "idle cores");
  EXPECT_TRUE(both["rows"][1]["displaced"].is_number()) << both;
  EXPECT_TRUE(both["rows"][2]["loss_seen"].is_number()) << both;
  EXPECT_NE(both["rows"][2]["sensors"].get<std::string>().find("canary"), std::string::npos);
}

TEST_F(Lab, real_threads_may_serve_a_device_that_takes_no_core) {
  const json both = result("--seconds 1 --policy none,budget --cap 25% --load trace");
  ASSERT_EQ(both["rows"].size(), 2u) << both;
  EXPECT_EQ(both["source"], "trace");
  for (const json& row : both["rows"]) {
    EXPECT_EQ(row["load"], "real: trace uniform");
    for (const char* key : {"share", "throughput", "per_cpu_s", "service_us", "device_share"}) {
      EXPECT_GT(row.value(key, -1.0), 0) << key << " of " << row;
    }
    EXPECT_LT(row["device_share"].get<double>(), row["share"].get<double>()) << row;
  }
  EXPECT_EQ(both["rows"][1]["cap"], 0.25);
  expect_refused("--load faults", "--load is 'faults'; permitted are reads and trace");
  expect_refused("--simulate --load trace", "--load is for real threads; omit it or --simulate");
}

TEST_F(Lab, refuses_impossible_options_and_names_the_permitted_values) {
  const std::string simulated =
      " requires --simulate; on real threads the load and the cores are fixed";
  expect_refused("--cores 2", "--cores" + simulated);
  expect_refused("--service fixed:3", "--service" + simulated);
  expect_refused("--outstanding 8", "--outstanding" + simulated);
  expect_refused("--offered inf", "--offered" + simulated);
  expect_refused("--all", "--all" + simulated);
  expect_refused(
      "--busy 120%",
      "--busy is '120%'; permitted is the fraction of the time in which CPU programs want "
      "each core, 0.01 to 1, or 1% to 100%");
  expect_refused(
      "--simulate --busy none",
      "--busy is 'none'; permitted is the fraction of the time in which CPU programs want "
      "each core, 0.01 to 1, or 1% to 100%");
  expect_refused("--cap 0.05%", "--cap is 0.05 %; on real threads it is in steps of 0.1 %");
  expect_refused("--seconds 61", "--seconds is '61'; permitted are 1 to 60");
  expect_refused("--pairs 6",
                 "--pairs compares CPU programs; give --busy, too, such as --busy 100%");
  expect_refused("--busy 50% --pairs 0", "--pairs is '0'; permitted are 1 to 200");
  expect_refused("--simulate --pairs 6", "--pairs is for real threads; omit it or --simulate");
  expect_refused("--simulate --seconds 3", "--seconds is for real threads; omit it or --simulate");
  expect_refused("--simulate --cap 120%",
                 "--cap is '120%'; permitted is a fraction of the CPU time of all cores, 0.0001 to "
                 "1, or 0.01% to 100%; --policy none has no cap");
  expect_refused("--simulate --cores 0", "--cores is '0'; permitted are 1 to 1024");
  expect_refused("--simulate --outstanding many",
                 "--outstanding is 'many'; permitted are 1 to 1048576");
  expect_refused("--simulate --offered -3",
                 "--offered is '-3'; permitted are 1 to 1e+08 requests a second, or inf");
  expect_refused("--simulate --policy magic",
                 "governor.policy 'magic' does not exist; there are none, backoff, budget, "
                 "displaced, auto");
  expect_refused("--simulate --all --cap 5%",
                 "--all runs the loads of the study; omit it to give a load of your own");
  expect_refused("--simulate --service uniform:9",
                 "service time 'uniform:9': uniform takes 2 numbers, not 1; give uniform:LO:HI, "
                 "lognormal:MEAN:SIGMA or fixed:X in microseconds, such as uniform:2:50");
}

class TraceLab : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    path_ = testing::TempDir() + "k2k_trace_lab_" + std::to_string(::getpid());
  }
  void TearDown() override {
    std::remove(path_.c_str());
    Program::TearDown();
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] Outcome trace(const std::string& arguments) const {
    return run("lab trace " + arguments + " 2>&1");
  }
  void expect_refused(const std::string& arguments, const std::string& message) {
    const Outcome outcome = trace(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "k2k: lab trace: " + message + "\n");
  }

  std::string path_;
};

TEST_F(TraceLab, replays_a_file_to_its_end) {
  std::string text = "# k2k trace 1\n";
  for (int line = 0; line < 10'000; ++line) text += "+1 pread 100\n+2 nop\n";
  write(text);
  const Outcome outcome = trace(path_ + " --outstanding 8 --json --cap 50%");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json row = json::parse(outcome.out, nullptr, false)["rows"][0];
  EXPECT_EQ(row["trace"], path_);
  EXPECT_EQ(row["requests"], 20'000);
  EXPECT_EQ(row["errors"], 0);
  EXPECT_EQ(row["cap"], 0.5);
  for (const char* key : {"throughput", "delay_p50_us", "share", "device_share", "device_ns"}) {
    EXPECT_GT(row.value(key, 0.0), 0) << key << " of " << row;
  }
  EXPECT_GE(row.value("delay_p99_us", 0.0), row.value("delay_p50_us", 1.0));
  EXPECT_LE(row.value("stalled", 9.0), 1);
  EXPECT_LE(row.value("device_share", 9.0), 1);
}

TEST_F(TraceLab, people_get_a_table_of_a_load) {
  const Outcome outcome = trace("uniform --seconds 0.2 --seed 3");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("device a request"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\nuniform: "), std::string::npos) << outcome.out;
}

// From here on the kernel answers -ENOSYS to this call of this process and of its children.
void lose_call(std::uint32_t number) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {std::size(program), program};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

TEST_F(TraceLab, wrong_answers_end_it_with_an_error) {
  write("# k2k trace 1\n0 nop\n0 nanosleep 5\n");
  lose_call(SYS_process_vm_readv);  // Without it the server leaves a sleep to a thread,
  lose_call(SYS_nanosleep);         // whose call fails. The C library sleeps by clock_nanosleep.
  const Outcome outcome = trace(path_);
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_NE(outcome.out.find("k2k: lab trace: 1 of 2 answers were wrong; the first: nanosleep "
                             "answered -38\n"),
            std::string::npos)
      << outcome.out;
}

TEST_F(TraceLab, refuses_impossible_options_and_names_the_permitted_values) {
  write("# k2k trace 1\n0 nop\nsoon nop\n");
  expect_refused(path_, path_ +
                            ": line 3: 'soon' is no time; a line begins with microseconds, 0 "
                            "to 3600000000 since the begin, or such as +2.5 since the answer "
                            "before");
  expect_refused(
      "nowhere.trace",
      "there is no file 'nowhere.trace', and there is no load 'nowhere.trace'; loads are "
      "uniform, burst, lognormal, poisson:RATE (requests a second, 1 to 10000000)");
  expect_refused("uniform --outstanding 0", "--outstanding is '0'; permitted are 1 to 1048576");
  expect_refused("uniform --outstanding 5000",
                 "trace 'uniform': it may have 1 to 2048 requests outstanding, not 5000; raise "
                 "device.resident_waves for more");
  expect_refused("uniform --seconds 0", "--seconds is '0'; permitted are 0.1 to 600");
  expect_refused("uniform --cap 0.05%", "--cap is 0.05 %; on real threads it is in steps of 0.1 %");
}

}  // namespace
}  // namespace k2k::end_to_end::lab_test
