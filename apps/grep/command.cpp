// `k2k grep`: options in, SearchOptions out.

#include "cli/command.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "apps/grep/search.hpp"

namespace k2k::cli {

namespace {

struct GrepFlags {
  std::vector<std::string> words;       // -e
  std::vector<std::string> word_files;  // -f
  std::vector<std::string> operands;
  std::string granularity = "work-item";
  std::string wait = "polling";
  std::string progress = "auto";
  bool blocking = false;
  bool no_wait = false;
  bool always_so = false;  // Options of grep that ask for what is done anyway.
  grep::SearchOptions options;
};

// The whole file; "-" is standard input. Errors: the errno of what failed.
Result<std::string> read_file(const std::string& path) {
  const auto failed = [&path] {
    return Error{errno, fmt::format("{}: {}", path, std::strerror(errno))};
  };
  std::FILE* const file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return failed();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closer(
      path == "-" ? nullptr : file, [](std::FILE* open) { return std::fclose(open); });
  std::string text;
  char piece[65536];
  while (const std::size_t count = std::fread(piece, 1, sizeof(piece), file)) {
    text.append(piece, count);
    if (text.size() > 2 * grep::word_bytes_max) {
      return Error{EFBIG,
                   fmt::format("{}: more than {} MiB of words", path, grep::word_bytes_max >> 19)};
    }
  }
  if (std::ferror(file) != 0) return failed();
  return text;
}

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
    auto text = read_file(path);
    if (!text) return text.error();
    grep::add_words_of_file(text.value(), options.words);
  }
  return {};
}

int run_grep(GrepFlags flags, const Context& context) {
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  grep::SearchOptions& options = flags.options;
  if (Status status = take_words(flags); !status) return grep::complain(status.error().message);
  options.granularity = flags.granularity == "work-group" ? grep::Granularity::work_group
                                                          : grep::Granularity::work_item;
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

void choice(CLI::App& app, Context& context, const char* name, std::string& value,
            const std::vector<std::string>& words, const char* help) {
  CLI::Option* const option = app.add_option(name, value, help)
                                  ->check(CLI::IsMember(words))
                                  ->capture_default_str()
                                  ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  context.words[option] = words;
}

Run add_grep(CLI::App& app, Context& context) {
  auto flags = std::make_shared<GrepFlags>();
  grep::SearchOptions& options = flags->options;
  const auto several = CLI::MultiOptionPolicy::TakeAll;
  const auto last = CLI::MultiOptionPolicy::TakeLast;
  app.add_option("-f,--file", flags->word_files, "Words, one a line; - is standard input")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->multi_option_policy(several);
  app.add_option("-e,--regexp", flags->words, "One word, or several with newlines between")
      ->type_name("WORD")
      ->allow_extra_args(false)
      ->multi_option_policy(several);
  app.add_option("PATH", flags->operands,
                 "Files and directories; without -f and -e the first is a word [.]");
  app.add_flag("-F,--fixed-strings", flags->always_so, "Words are no patterns (always so)");
  app.add_flag("-l,--files-with-matches", flags->always_so, "Print names of files (always so)");
  app.add_flag("-r,--recursive", flags->always_so, "Descend into directories (always so)");
  app.add_flag("-q,--quiet", options.job.quiet, "Print nothing, end at the first match");
  app.add_flag("-s,--no-messages", options.job.no_messages,
               "No messages about files that cannot be read");
  choice(app, context, "--granularity", flags->granularity, {"work-item", "work-group"},
         "Who searches a file");
  CLI::Option* const blocking =
      app.add_flag("--blocking", flags->blocking, "Wait for the answers of write and close");
  app.add_flag("--no-wait", flags->no_wait, "Do not wait for them (the default)")
      ->excludes(blocking);
  choice(app, context, "--wait", flags->wait, {"polling", "halting"},
         "How a work-item waits for an answer");
  app.add_option("--groups", options.groups, "Work-groups to launch")
      ->check(CLI::Range(1, 4096))
      ->multi_option_policy(last);
  app.add_option("--items", options.items, "Work-items a group")
      ->check(CLI::Range(1, 1024))
      ->multi_option_policy(last);
  app.add_option("--queue-bytes", options.job.queue_bytes, "Room for names that wait for a worker")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str()
      ->multi_option_policy(last);
  app.add_option("--chunk-bytes", options.job.chunk_bytes, "Bytes a read")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str()
      ->multi_option_policy(last);
  app.add_flag("--stats", options.stats, "Print what the server did on standard error");
  choice(app, context, "--progress", flags->progress, {"auto", "always", "never"},
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
