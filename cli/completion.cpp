// k2k completion: the script by which a shell completes k2k. Each script calls `k2k complete`
// (complete.hpp), and completes files if that prints no candidate.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "cli/commands.hpp"

namespace k2k::cli {

namespace {

struct Script {
  const char* shell;
  const char* text;  // The script, without its first comment.
};
constexpr Script scripts[] = {
    {"bash", R"sh(_k2k() {
  mapfile -t COMPREPLY < <("$1" complete bash "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null)
  [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -o bashdefault -o default -F _k2k k2k
)sh"},
    {"zsh", R"sh(_k2k() {
  local -a offers keys
  offers=("${(@f)$("${~words[1]}" complete zsh $((CURRENT - 1)) "${(@)words}" 2>/dev/null)}")
  if [[ -n "$offers" ]]; then
    keys=("${(@M)offers:#*=}")
    offers=("${(@)offers:#*=}")
    _describe k2k offers -- keys -S ''
  else
    compset -P '--*='
    _files
  fi
}
_k2k "$@"
)sh"},
    {"fish", R"sh(function __k2k_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  set -l offers ($typed[1] complete fish (count $typed) $typed "$current" 2>/dev/null)
  if set -q offers[1]
    printf '%s\n' $offers
  else
    set -l option (string match -r -- '^--[^=]*=' "$current")
    __fish_complete_path (string replace -- "$option" '' "$current") |
      string replace -r -- '^' "$option"
  end
end
complete -c k2k -f -a '(__k2k_complete)'
)sh"},
};

int print_script(const std::string& shell) {
  const auto* const script = std::find_if(std::begin(scripts), std::end(scripts),
                                          [&](const Script& one) { return one.shell == shell; });
  if (script == std::end(scripts)) {
    return complain(fmt::format("no completion for '{}'; permitted: bash, zsh, fish", shell),
                    exit_usage);
  }
  return print(fmt::format("{}# {} completion for k2k {}; made by 'k2k completion {}'.\n{}",
                           shell == "zsh" ? "#compdef k2k\n" : "", shell, K2K_VERSION, shell,
                           script->text));
}

}  // namespace

Command completion_command() {
  return {
      .name = "completion",
      .summary = "Print the completion script of a shell",
      .description =
          "Prints a script that completes commands, options and their values. The script asks k2k, "
          "which answers from its own parser.",
      .examples = {{"source <(k2k completion bash)", "For this bash."},
                   {"k2k completion zsh > \"${fpath[1]}/_k2k\"", "For every zsh."},
                   {"k2k completion fish > ~/.config/fish/completions/k2k.fish",
                    "For every fish."}},
      .add = [](CommandLine& line, Context&) -> Run {
        auto shell = std::make_shared<std::string>();
        line.option("SHELL", *shell, "bash, zsh or fish").required().offer({"bash", "zsh", "fish"});
        return [shell] { return print_script(*shell); };
      },
  };
}

}  // namespace k2k::cli
