// `k2k grep`: options in, SearchOptions out.

#include "cli/command.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "apps/common/core_shares.hpp"
#include "apps/grep/search.hpp"

namespace k2k::cli {

namespace {

struct GrepFlags {
  std::vector<std::string> words;       // -e
  std::vector<std::string> word_files;  // -f
  std::vector<std::string> operands;
  std::string granularity = "auto";
  std::string wait = "polling";
  std::string progress = "auto";
  bool blocking = false;
  bool no_wait = false;
  bool always_so = false;  // Options of grep for the only behaviour of k2k grep.
  grep::SearchOptions options;
};

Status take_words(GrepFlags& flags) {
  grep::SearchOptions& options = flags.options;
  if (flags.words.empty() && flags.word_files.empty()) {
    if (flags.operands.empty()) {
      return Error{EINVAL, "no words; give them with -f FILE, -e WORD, or before the paths"};
    }
    flags.words.push_back(flags.operands.front());
    flags.operands.erase(flags.operands.begin());
  }
  for (const std::string& word : flags.words) grep::add_words_of_argument(word, options.words);
  for (const std::string& path : flags.word_files) {
    auto text = grep::read_word_file(path, 2 * grep::word_bytes_max,
                                     fmt::format("{} MiB of words", grep::word_bytes_max >> 19));
    if (!text) return text.error();
    grep::add_words_of_file(text.value(), options.words);
  }
  return {};
}

int run_grep(GrepFlags flags, const Context& context) {
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  grep::SearchOptions& options = flags.options;
  if (Status status = take_words(flags); !status) return grep::complain(status.error().message);
  if (flags.granularity == "work-item") options.granularity = grep::Granularity::work_item;
  if (flags.granularity == "work-group") options.granularity = grep::Granularity::work_group;
  options.halting = flags.wait == "halting";
  options.detached = !flags.blocking;
  options.progress = flags.progress == "always"  ? grep::Progress::always
                     : flags.progress == "never" ? grep::Progress::never
                                                 : grep::Progress::automatic;
  options.json = context.json;
  options.job.bare_names = flags.operands.empty();
  options.job.paths = flags.operands;
  if (flags.operands.empty()) options.job.paths = {"."};
  return grep::search(options, loaded.value().config);
}

void choice(CommandLine& line, const char* name, std::string& value,
            const std::vector<std::string>& words, const char* help) {
  line.option(name, value, help).one_of(words).show_default().last_wins();
}

Run add_grep(CommandLine& line, Context& context) {
  auto flags = std::make_shared<GrepFlags>();
  grep::SearchOptions& options = flags->options;
  line.option("-f,--file", flags->word_files, "Words, one a line; - is standard input")
      .type("FILE")
      .repeated();
  line.option("-e,--regexp", flags->words, "One word, or several with newlines between")
      .type("WORD")
      .repeated();
  line.option("PATH", flags->operands,
              "Files and directories; without -f and -e the first is a word [.]");
  line.flag("-F,--fixed-strings", flags->always_so, "Words are no patterns (always so)");
  line.flag("-l,--files-with-matches", flags->always_so, "Print names of files (always so)");
  line.flag("-r,--recursive", flags->always_so, "Descend into directories (always so)");
  line.flag("-q,--quiet", options.job.quiet, "Print nothing, end at the first match");
  line.flag("-s,--no-messages", options.job.no_messages,
            "No messages about files that cannot be read");
  choice(line, "--granularity", flags->granularity, {"auto", "work-item", "work-group"},
         "Who searches a file; auto: a work-item on the cpu backend, a work-group on a GPU");
  const Option blocking =
      line.flag("--blocking", flags->blocking, "Wait for the answers of write and close");
  line.flag("--no-wait", flags->no_wait, "Do not wait for them (the default)").excludes(blocking);
  choice(line, "--wait", flags->wait, {"polling", "halting"},
         "How a work-item waits for an answer");
  line.option("--groups", options.groups,
              "Work-groups to launch; by default one a compute unit, with --granularity "
              "work-group 16, on a GPU 4")
      .within(1, 4096)
      .last_wins();
  line.option("--items", options.items,
              "Work-items a group; by default 16, with --granularity work-group 4, on a GPU 32")
      .within(1, 1024)
      .last_wins();
  line.option("--queue-bytes", options.job.queue_bytes, "Room for names that wait for a worker")
      .within(0, 1 << 30)
      .show_default()
      .last_wins();
  line.option("--chunk-bytes", options.job.chunk_bytes, "Bytes a read")
      .within(1, 1 << 30)
      .show_default()
      .last_wins();
  line.flag("--stats", options.stats, "Print what the server did on standard error");
  choice(line, "--progress", flags->progress, {"auto", "always", "never"},
         "Draw a bar on standard error; auto: if that is a terminal and standard output is none");
  return [&context, flags] { return run_grep(*flags, context); };
}

}  // namespace

Command grep_command() {
  return {
      .name = "grep",
      .summary = "Search files for words, all of it in a kernel",
      .description =
          "Prints what LC_ALL=C grep -r -F -l prints: the names of the files below each PATH that "
          "contain one of the words. The kernel itself walks the directories, opens, reads and "
          "closes the files, and writes each name, all by system calls; the host only starts it. "
          "Order is that of discovery. With --json the statistics are one JSON object on standard "
          "error: standard output belongs to the names. With --no-wait, a name of up to 4,095 "
          "bytes is written without waiting for the answer; an error is then found at the end.",
      .examples = {{"k2k grep -F -l -f words.txt /usr/include", "Headers with one of the words."},
                   {"k2k grep --stats -e mutex src", "And what the server did for it."}},
      .exits = {{0, "A file matched."},
                {1, "None did."},
                {2, "Something could not be read or written, or an option is wrong."}},
      .has_json = true,
      .add = add_grep};
}

}  // namespace k2k::cli
