// `k2k-wordcount`: options in, counts on standard output.

#include "apps/wordcount/command.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/common/core_shares.hpp"
#include "apps/wordcount/count.hpp"
#include "apps/wordcount/generate.hpp"

namespace k2k::cli {

namespace {

struct WordcountFlags {
  std::vector<std::string> strings;       // -e
  std::vector<std::string> string_files;  // -f
  std::vector<std::string> operands;
  std::string by = "kernel";
  std::string generated;
  wordcount::Inputs inputs;
  wordcount::Settings settings;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-wordcount: {}\n", message);
  return status;
}

Result<wordcount::Strings> strings_of(const WordcountFlags& flags) {
  std::vector<std::string> all = flags.strings;
  for (const std::string& path : flags.string_files) {
    auto more = wordcount::read_strings(path);
    if (!more) return more.error();
    all.insert(all.end(), more->begin(), more->end());
  }
  return wordcount::Strings::build(std::move(all));
}

nlohmann::ordered_json json_of(const wordcount::Strings& strings, const wordcount::Counts& counts,
                               const std::string& by, std::size_t files, std::size_t errors) {
  nlohmann::ordered_json object = {{"by", by},
                                   {"files", files},
                                   {"bytes", counts.bytes},
                                   {"errors", errors},
                                   {"seconds", counts.seconds},
                                   {"launches", counts.launches},
                                   {"host_calls", counts.host_calls}};
  nlohmann::ordered_json& all = object["counts"] = nlohmann::ordered_json::array();
  for (std::size_t place = 0; place < strings.given().size(); ++place) {
    all.push_back({{"string", strings.given()[place]},
                   {"count", counts.of_strings[strings.counter_of(place)]}});
  }
  if (counts.rates.empty()) return object;
  nlohmann::ordered_json& rates = object["rates"] = nlohmann::ordered_json::array();
  for (const apps::RateSample& sample : counts.rates) {
    nlohmann::ordered_json disk;
    if (sample.disk_bytes) disk = *sample.disk_bytes;
    rates.push_back(
        {{"seconds", sample.seconds}, {"cpu_share", sample.cpu_share}, {"disk_bytes", disk}});
  }
  return object;
}

int report(const WordcountFlags& flags, const wordcount::Strings& strings,
           const wordcount::FileList& list, const wordcount::Counts& counts, bool json) {
  for (const std::string& message : list.messages) tell(message);
  std::size_t errors = list.messages.size();
  for (std::size_t file = 0; file < counts.errors.size(); ++file) {
    if (counts.errors[file] == 0) continue;
    ++errors;
    tell(fmt::format("{}: {}", list.paths[file], std::strerror(counts.errors[file])));
  }
  std::string text;
  if (json) {
    constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
    text = json_of(strings, counts, flags.by, list.paths.size(), errors)
               .dump(-1, ' ', false, replace) +
           "\n";
  } else {
    for (std::size_t place = 0; place < strings.given().size(); ++place) {
      text += fmt::format("{} {}\n", counts.of_strings[strings.counter_of(place)],
                          strings.given()[place]);
    }
  }
  const int printed = print(text);
  return printed != exit_ok ? printed : errors != 0 ? exit_failure : exit_ok;
}

int run_wordcount(const WordcountFlags& flags, const Context& context) {
  if (!flags.generated.empty()) {
    const Status made = wordcount::generate(flags.generated, flags.inputs);
    return made ? exit_ok : tell(made.error().message);
  }
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  apps::share_cores(loaded.value());
  auto strings = strings_of(flags);
  if (!strings) return tell(strings.error().message, exit_usage);
  if (flags.operands.empty()) return tell("no PATH; name files or directories", exit_usage);
  wordcount::Settings settings = flags.settings;
  settings.by = flags.by == "relaunch" ? wordcount::By::relaunch
                : flags.by == "direct" ? wordcount::By::direct
                : flags.by == "openmp" ? wordcount::By::openmp
                                       : wordcount::By::kernel;
  const wordcount::FileList list = wordcount::list_files(flags.operands);
  auto counts = wordcount::count(*strings, list.paths, settings, loaded.value().config);
  if (!counts) return tell(counts.error().message);
  return report(flags, *strings, list, *counts, context.json);
}

Run add_wordcount(CommandLine& line, Context& context) {
  auto flags = std::make_shared<WordcountFlags>();
  wordcount::Settings& settings = flags->settings;
  line.option("-f,--file", flags->string_files, "Strings, one a line; - is standard input")
      .type("FILE")
      .repeated();
  line.option("-e,--string", flags->strings, "One string").type("STRING").repeated();
  line.option("PATH", flags->operands, "Files, and directories with all files below them");
  line.option("--by", flags->by, "Who counts and calls")
      .one_of({"kernel", "relaunch", "direct", "openmp"})
      .show_default()
      .last_wins();
  line.option("--groups", settings.groups, "Work-groups to launch").within(1, 4096).last_wins();
  line.option("--items", settings.items, "Work-items a group").within(1, 1024).last_wins();
  line.option("--threads", settings.threads, "Threads of openmp, and of relaunch' system calls")
      .within(1, 256)
      .last_wins();
  line.option("--chunk-bytes", settings.chunk_bytes, "Bytes a read")
      .within(1, 1 << 24)
      .show_default()
      .last_wins();
  line.flag("--rates", settings.rates, "With --json: CPU share and disk bytes, ten times a second");
  line.option("--generate", flags->generated, "Make inputs in this new folder, and count nothing")
      .type("FOLDER");
  line.option("--files", flags->inputs.files, "Of --generate: files")
      .within(1, 1'000'000)
      .show_default();
  line.option("--bytes", flags->inputs.file_bytes, "Of --generate: mean bytes of a file")
      .within(1, 1 << 30)
      .show_default();
  line.option("--strings", flags->inputs.strings, "Of --generate: strings")
      .within(1, wordcount::strings_max)
      .show_default();
  line.option("--seed", flags->inputs.seed, "Of --generate: equal seeds make equal files")
      .show_default();
  return [&context, flags] { return run_wordcount(*flags, context); };
}

}  // namespace

Command wordcount_command() {
  return {
      .name = "wordcount",
      .summary = "Count strings in files, all of it in a kernel",
      .description =
          "Prints the number of occurrences of each string in all files together, overlapping ones "
          "included, in the order of the strings. By kernel: work-groups open, read and close the "
          "files by their own system calls. By relaunch: the kernel ends at every system call, and "
          "the host makes it and launches the next piece. By direct: the kernel calls libc on its "
          "own thread, which is the floor on the cpu backend. By openmp: threads without a device.",
      .examples = {{"k2k-wordcount --generate in", "Make files, strings and their counts."},
                   {"k2k-wordcount -f in/strings in/files", "Count them."}},
      .exits = {{0, "All files were counted."},
                {1, "A file could not be read, or the device could not be used."},
                {2, "An option or a string is wrong."}},
      .has_json = true,
      .add = add_wordcount};
}

}  // namespace k2k::cli
