"""psylang completion: scripts for bash, zsh and fish, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from psylang.cli.main import parser


def main(options: argparse.Namespace) -> int:
    print({"bash": bash, "zsh": zsh, "fish": fish}[options.shell]())
    return 0


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parsers of the sub-commands, by name."""
    for action in parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the parser has no commands")


def _options(command: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    for action in command._actions:
        for name in action.option_strings:
            if name.startswith("--"):
                yield name, action


def _words(command: argparse.ArgumentParser) -> list[str]:
    """The possible words: options, and the choices of arguments."""
    words = [name for name, _ in _options(command)]
    for action in command._actions:
        if not action.option_strings and action.choices:
            words += [str(one) for one in action.choices]
    return words


def bash() -> str:
    cases = "\n".join(
        f'    {name}) words="{" ".join(_words(command))}" ;;'
        for name, command in commands().items()
    )
    return f"""\
_psylang() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD - 1]}}" words=""
  case "$before" in
    --numerics) COMPREPLY=($(compgen -W "fast exact" -- "$word")); return ;;
    --precision) COMPREPLY=($(compgen -W "f64 f32" -- "$word")); return ;;
    --emit) COMPREPLY=($(compgen -W "object llvm assembly ir" -- "$word")); return ;;
    --output) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{" ".join(commands())} --help --version"
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY+=($(compgen -f -X '!*.py' -- "$word") $(compgen -f -X '!*.ir' -- "$word"))
  fi
}}
complete -F _psylang psylang"""


def zsh() -> str:
    names = " ".join(commands())
    cases = "\n".join(
        f"    {name}) compadd -- {' '.join(_words(command))}; _files -g '*.(py|ir)' ;;"
        for name, command in commands().items()
    )
    return f"""\
#compdef psylang
_psylang() {{
  if (( CURRENT == 2 )); then
    compadd -- {names} --help --version
    return
  fi
  case "${{words[CURRENT - 1]}}" in
    --numerics) compadd -- fast exact; return ;;
    --precision) compadd -- f64 f32; return ;;
    --emit) compadd -- object llvm assembly ir; return ;;
    --output) _files; return ;;
  esac
  case "${{words[2]}}" in
{cases}
  esac
}}
compdef _psylang psylang"""


def fish() -> str:
    lines = ["complete -c psylang -f"]
    for name, command in commands().items():
        described = _quoted((command.description or "").strip().splitlines()[0])
        lines.append(f"complete -c psylang -n __fish_use_subcommand -a {name} -d {described}")
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for option, action in _options(command):
            line = f"complete -c psylang {seen} -l {option[2:]} -d {_quoted(action.help or '')}"
            if action.choices:
                line += f" -x -a '{' '.join(map(str, action.choices))}'"
            elif option == "--output":
                line += " -r -F"
            elif action.nargs is None:
                line += " -x"
            lines.append(line)
        for action in command._actions:
            if not action.option_strings and action.choices:
                lines.append(f"complete -c psylang {seen} -a '{' '.join(action.choices)}'")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("%%", "%") + "'"
