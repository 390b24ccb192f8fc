// Goal: k2k grep prints the names, and ends with the status, of LC_ALL=C grep -r -F -l, for every
// way to make the calls and every schedule.
// Method: one tree with difficult names and files; both programs run on it as an ordinary user, and
// the sorted names and the messages must be equal.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace k2k::end_to_end::grep_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* word = "kernel_to_kernel";
constexpr std::size_t chunk_bytes = 65536;  // The default of --chunk-bytes.

void put(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string slurp(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Outcome {
  std::vector<std::string> names;     // Sorted.
  std::vector<std::string> messages;  // Sorted; the program's name is "grep".
  int status = -1;
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  out << "status " << outcome.status << ", " << outcome.names.size() << " names";
  for (const std::string& message : outcome.messages) out << "\n  " << message;
  return out;
}

std::vector<std::string> sorted_lines(std::string text) {
  for (std::size_t at; (at = text.find("k2k grep: ")) != std::string::npos;) text.erase(at, 4);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The tree and a place for outputs, made once.
class World {
 public:
  static World& get() {
    static World world;
    return world;
  }

  // Runs a shell command in the tree's parent; as the user nobody if this process is root.
  Outcome run(const std::string& command) const {
    const std::string as_user =
        ::getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    const fs::path script = base_ / "script";
    put(script, "exec <&-; exec </dev/null\ncd '" + base_.string() + "/work'\n" + command + "\n");
    const std::string line = "timeout 100 " + as_user +
                             "env LC_ALL=C K2K_CONFIG= HOME=/nonexistent sh '" + script.string() +
                             "' >'" + (base_ / "out").string() + "' 2>'" +
                             (base_ / "err").string() + "'";
    const int status = std::system(line.c_str());
    return {sorted_lines(slurp(base_ / "out")), sorted_lines(slurp(base_ / "err")),
            WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  }
  Outcome ours(const std::string& arguments) const {
    return run("'" + cli_ + "' grep -F -l " + arguments);
  }
  Outcome gnu(const std::string& arguments) const { return run("grep -r -F -l " + arguments); }

  [[nodiscard]] bool usable() const {
    return !cli_.empty() && run("test -x '" + cli_ + "'").status == 0;
  }
  [[nodiscard]] const std::string& cli() const { return cli_; }

 private:
  World() {
    const char* const cli = std::getenv("K2K_CLI");
    cli_ = cli == nullptr ? "" : cli;
    std::string pattern = (fs::temp_directory_path() / "k2k-grep-XXXXXX").string();
    base_ = ::mkdtemp(pattern.data());
    fs::permissions(base_, fs::perms(0755));
    fs::create_directories(base_ / "work");
    build(base_ / "work" / "tree");
    put(base_ / "work" / "words", std::string("no_such_word\n") + word + "\nQ\xff\xfeQ\n");
    put(base_ / "work" / "every_line", "other\n\n");
    put(base_ / "work" / "with_nul", std::string("a\0b\n", 4));
    put(base_ / "work" / "none", "");
  }
  ~World() {
    std::error_code ignored;
    fs::permissions(base_ / "work/tree/closed", fs::perms(0755), ignored);
    fs::remove_all(base_, ignored);
  }

  static void build(const fs::path& tree) {
    fs::create_directories(tree / "sub" / "empty");
    const std::string line = std::string("x ") + word + " y\n";
    put(tree / "hit", "first\n" + line);
    put(tree / "miss", "kernel_to_kerne\nl kernel_to_ kernel\n");
    put(tree / "empty", "");
    put(tree / "newline", "\n");
    put(tree / "no_newline", word);
    put(tree / "binary", std::string("\0\1\2\0", 4) + word + std::string("\0\377", 2));
    put(tree / "nuls", std::string(100, '\0'));
    put(tree / "nul_between", std::string("a\0b", 3));
    put(tree / "high_bytes", "Q\xff\xfeQ");
    put(tree / "huge_line", std::string(3'000'000, 'k') + word);
    put(tree / "name_\xff\xfe\n_odd", line);
    put(tree / "-", line);
    put(tree / "-l", line);
    put(tree / "--", line);
    put(tree / "++", line);
    put(tree / "[hit,miss]", line);
    put(tree / ".hidden", line);
    put(tree / "unreadable", line);
    fs::permissions(tree / "unreadable", fs::perms::none);
    fs::create_directory(tree / "closed");
    put(tree / "closed" / "inside", line);
    fs::permissions(tree / "closed", fs::perms::none);
    fs::create_symlink("hit", tree / "link_to_file");
    fs::create_symlink("sub", tree / "link_to_directory");
    fs::create_symlink("nowhere", tree / "dangling");
    fs::create_symlink("..", tree / "sub" / "loop");
    EXPECT_EQ(::mkfifo((tree / "fifo").c_str(), 0666), 0);
    const std::size_t length = std::string(word).size();
    for (std::size_t shift = 0; shift <= length; ++shift) {
      const std::string name = "border" + std::to_string(shift);
      put(tree / name, std::string(chunk_bytes - shift, '.') + word);
      put(tree / (name + "_second"), std::string(2 * chunk_bytes - shift, '.') + word + "tail");
      put(tree / (name + "_miss"), std::string(chunk_bytes - shift, '.') + "kernel_to_kerne");
    }
    fs::path deep = tree / "deep";
    for (int level = 0; level < 200; ++level) deep /= "level" + std::to_string(level);
    fs::create_directories(deep);
    put(deep / "bottom", line);
    // Names of two files: each test makes and removes them, and ext4 looks for a new inode behind
    // those that were removed within the last minute, which took 0.5 ms a file.
    fs::create_directory(tree / "many");
    put(tree / "many" / "0", line);
    put(tree / "many" / "1", "nothing\n");
    for (int index = 2; index < 5000; ++index) {
      fs::create_hard_link(tree / "many" / (index % 7 == 0 ? "0" : "1"),
                           tree / "many" / std::to_string(index));
    }
  }

  fs::path base_;
  std::string cli_;
};

class Grep : public testing::Test {
 protected:
  void SetUp() override {
    if (!World::get().usable()) GTEST_SKIP() << "K2K_CLI is unset or not for every user";
  }
  static void expect_same(const std::string& arguments, const std::string& flags = "") {
    const Outcome gnu = World::get().gnu(arguments);
    EXPECT_EQ(World::get().ours(flags + " " + arguments), gnu) << flags << " " << arguments;
  }
};

TEST_F(Grep, agrees_with_gnu_grep_in_every_manner_and_schedule) {
  const World& world = World::get();
  const std::string arguments = "-f words tree nowhere tree/link_to_directory/";
  const Outcome gnu = world.gnu(arguments);
  EXPECT_EQ(gnu.status, 2);
  EXPECT_GT(gnu.names.size(), 700u);
  for (const char* granularity : {"work-item", "work-group"}) {
    for (const char* manner : {"--blocking", "--no-wait"}) {
      for (const char* wait : {"polling", "halting"}) {
        for (const char* schedule : {"round_robin", "random", "adversarial"}) {
          const std::string flags = std::string("--granularity ") + granularity + " " + manner +
                                    " --wait " + wait + " --device-schedule " + schedule + " ";
          EXPECT_EQ(world.ours(flags + arguments), gnu) << flags;
        }
      }
    }
  }
}

TEST_F(Grep, agrees_on_a_strict_device) {
  for (const char* granularity : {"work-item", "work-group"}) {
    for (const char* manner : {"--blocking", "--no-wait"}) {
      expect_same("-f words tree",
                  std::string("--device-strict --granularity ") + granularity + " " + manner);
    }
  }
}

TEST_F(Grep, agrees_on_several_compute_units) {
  expect_same("-f words tree", "--device-compute-units 3");
  expect_same("-f words tree", "--device-compute-units 3 --granularity work-group");
}

TEST_F(Grep, loses_nothing_when_the_queue_is_full) {
  for (const char* bytes : {"0", "40", "200"}) {
    for (const char* granularity : {"work-item", "work-group"}) {
      expect_same("-f words tree tree/link_to_directory",
                  std::string("--queue-bytes ") + bytes + " --granularity " + granularity);
    }
  }
}

TEST_F(Grep, finds_words_across_chunks_of_any_size) {
  for (const char* bytes : {"1", "17", "4096"}) {
    expect_same("-f words tree/border0 tree/border7_second tree/border16_miss tree/hit tree/miss",
                std::string("--chunk-bytes ") + bytes);
  }
  expect_same("-f words tree/border3 tree/border9_second tree/border16_miss",
              "--granularity work-group --items 32 --chunk-bytes 4096");
}

TEST_F(Grep, walks_names_longer_than_the_system_permits_in_one_call) {
  const World& world = World::get();
  const std::string build =
      "d=$(mktemp -d) && cd \"$d\" && n=$(printf 'n%.0s' $(seq 200)) && i=0 && while [ $i -lt 60 "
      "]; "
      "do mkdir $n && cd -P $n || exit 9; i=$((i+1)); done; echo kernel_to_kernel > f; cd \"$d\"; ";
  const std::string clean = "; s=$?; cd /; rm -rf \"$d\"; exit $s";
  const Outcome gnu = world.run(build + "grep -r -F -l kernel_to_kernel" + clean);
  const Outcome ours = world.run(build + "'" + world.cli() + "' grep kernel_to_kernel" + clean);
  if (gnu.status == 9) GTEST_SKIP() << "the shell cannot build such a path";
  EXPECT_EQ(ours, gnu);
  EXPECT_EQ(gnu.names.size(), 1u);
}

TEST_F(Grep, reads_words_and_paths_as_grep_does) {
  expect_same("-f every_line tree");
  expect_same("-f with_nul tree");
  expect_same("-f none tree");
  expect_same("-f none -e kernel_to_kernel tree/hit");
  expect_same("'' tree/sub tree/newline tree/empty tree/nuls");
  expect_same("kernel_to_kernel tree// ./tree/// tree/hit/ tree/link_to_file tree/dangling");
  expect_same("kernel_to_kernel");
  expect_same("kernel_to_kernel .");
  expect_same("kernel_to_kernel - < tree/hit");
  expect_same("kernel_to_kernel ''");
  expect_same("-e -l -- words");
  expect_same("-f nowhere tree");
  expect_same("-s kernel_to_kernel nowhere tree/hit");
  expect_same("-q kernel_to_kernel nowhere tree/hit");
  expect_same("-q kernel_to_kernel nowhere tree/miss");
  expect_same("\"$(printf 'zz\\nkernel_to_kernel')\" tree/hit");
}

TEST_F(Grep, ends_options_where_grep_does) {
  const World& world = World::get();
  for (const char* arguments : {"kernel_to_kernel hit --",
                                "kernel_to_kernel hit -- -l",
                                "kernel_to_kernel hit -- ++",
                                "kernel_to_kernel ++",
                                "kernel_to_kernel -- --",
                                "kernel_to_kernel -- -l -- ++",
                                "-- kernel_to_kernel hit -s",
                                "-s kernel_to_kernel -- hit",
                                "-e kernel_to_kernel ++ -- ++",
                                "-e -- hit",
                                "-e ++ hit",
                                "-se -- -l",
                                "-f -- hit",
                                "--regexp -- hit",
                                "--regexp= miss",
                                "--regexp=kernel_to_kernel -- -l",
                                "-lrFs -- kernel_to_kernel nowhere ++",
                                "kernel_to_kernel -- --help",
                                "kernel_to_kernel hit -- --json",
                                "-- '' newline",
                                "kernel_to_kernel hit -- man",
                                "kernel_to_kernel '[hit,miss]'",
                                "-e '[hit,miss]' hit"}) {
    const Outcome gnu = world.run(std::string("cd tree; grep -r -F -l ") + arguments);
    EXPECT_EQ(world.run("cd tree; '" + world.cli() + "' grep " + arguments), gnu) << arguments;
  }
}

TEST_F(Grep, tells_a_write_error_and_is_quiet_about_a_closed_pipe) {
  const World& world = World::get();
  for (const char* manner : {"--blocking", "--no-wait"}) {
    const std::string command = "'" + world.cli() + "' grep -f words " + manner + " tree/many";
    const Outcome full = world.run(command + " >/dev/full");
    EXPECT_EQ(full.status, 2) << manner;
    EXPECT_EQ(full.messages,
              std::vector<std::string>{"grep: write error: No space left on device"});
    const Outcome none = world.run(command + " >&-");
    EXPECT_EQ(none.status, 2) << manner;
    EXPECT_EQ(none.messages, std::vector<std::string>{"grep: write error: Bad file descriptor"});
    const Outcome closed = world.run("{ sleep 0.2; " + command + "; echo $? >&2; } | true; wait");
    EXPECT_EQ(closed.messages, std::vector<std::string>{"2"}) << manner;
  }
}

TEST_F(Grep, refuses_wrong_options_in_one_line) {
  for (const char* arguments :
       {"--granularity banana -e x .", "--wait never -e x .", "--items 0 -e x .", "--nonsense",
        "--blocking --no-wait -e x .", "--groups many -e x .", "--progress maybe -e x .",
        "--device-schedule none -e x .", "-f", ""}) {
    const Outcome outcome = World::get().ours(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.messages.size(), 1u) << arguments;
    EXPECT_TRUE(outcome.names.empty()) << arguments;
  }
}

TEST_F(Grep, prints_statistics_on_standard_error_only) {
  const Outcome table = World::get().ours("--stats kernel_to_kernel tree/hit");
  EXPECT_EQ(table.names, std::vector<std::string>{"tree/hit"});
  EXPECT_GT(table.messages.size(), 5u);
  const Outcome json = World::get().ours("--json kernel_to_kernel tree/hit");
  EXPECT_EQ(json.names, std::vector<std::string>{"tree/hit"});
  ASSERT_EQ(json.messages.size(), 1u);
  EXPECT_EQ(json.messages[0].front(), '{');
  EXPECT_NE(json.messages[0].find("\"files\":1"), std::string::npos);
  const Outcome bar = World::get().ours("--progress always kernel_to_kernel tree/hit");
  EXPECT_EQ(bar.names, std::vector<std::string>{"tree/hit"});
}

}  // namespace
}  // namespace k2k::end_to_end::grep_test
