"""INPUT_FILTER of docs/Doxyfile: our comments are plain `//` prose; this makes them documentation.

The comment at the head of a file documents the file and, like every comment, is kept word for word
(drawings, tables and angle brackets stay as they are). A comment in front of a declaration
documents it, one behind it too. Comments inside function bodies are left alone. The comments of C
headers, /* … */, are first turned into lines of `//`.
"""

import re
import sys
from pathlib import Path

COMMENT = re.compile(r"^(\s*)//(?!/) ?(.*)$")
TRAILING = re.compile(r'^(?P<code>[^"]*?[;,{}\w)])(?P<gap>\s+)// (?P<text>.*)$')
BLOCK_END = "@endverbatim */"
ENDS = re.compile(r"\s*(}|#\s*(else|endif))")  # A comment behind these names the end of a block.
C_COMMENT = re.compile(r"^(?P<before>.*?)/\*(?!\*) ?(?P<text>.*)$")


def document(lines: list[str], name: str = "") -> list[str]:
    """Returns the same number of lines, so that warnings name the right one.

    name: of a file with its head in the first line, instead of below `#pragma once`.
    """
    out: list[str] = []
    at = 0
    head_done = False
    while at < len(lines):
        if not COMMENT.match(lines[at]):
            out.append(trailing(lines[at]))
            head_done |= bool(lines[at].strip()) and not lines[at].startswith("#pragma once")
            at += 1
            continue
        end = at
        while end < len(lines) and COMMENT.match(lines[end]):
            end += 1
        follows = lines[end].strip() if end < len(lines) else ""
        if not head_done and out and out[-1] == "#pragma once":
            # The command wants a line of its own, and only this one is free.
            out[-1] = "/** @file"
            out += block(lines[at:end])
            out[at] = out[at].removeprefix("/** ")
        elif name and at == 0:
            out += block(lines[at:end])
            out[0] = out[0].replace("/** ", f"/** @file {name} ", 1)
        elif follows and not follows.startswith(("}", "#")):
            out += block(lines[at:end])
        else:
            out += lines[at:end]
        head_done = True
        at = end
    return out


def as_line_comments(lines: list[str]) -> list[str]:
    """The lines of a C header in which each comment ends its line."""
    out: list[str] = []
    inside = False
    for line in lines:
        if inside:
            before, text = "", re.sub(r"^ ?\* ?", "", line.strip(), count=1)
            if line.strip() == "*/":
                text = "*/"
        elif begin := C_COMMENT.match(line):
            before, text = begin["before"], begin["text"]
        else:
            out.append(line)
            continue
        inside = not text.endswith("*/")
        out.append(f"{before}// {text.removesuffix('*/')}".rstrip())
    return out


def block(lines: list[str]) -> list[str]:
    """The comment as one documentation block that Doxygen does not interpret."""
    texts = [match[2] if (match := COMMENT.match(line)) else "" for line in lines]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    body = [text.replace("*/", "* /") for text in texts]
    body[0] = f"{indent}/** @verbatim {body[0]}"
    body[-1] += f" {BLOCK_END}"
    return body


def trailing(line: str) -> str:
    match = TRAILING.match(line)
    if not match or "//" in match["code"] or ENDS.fullmatch(match["code"]):
        return line
    text = match["text"].replace("*/", "* /")
    return f"{match['code']}{match['gap']}/**< @verbatim {text} {BLOCK_END}"


def main(path: Path) -> None:
    lines = path.read_text().splitlines()
    of_c = path.suffix == ".h"
    documented = document(as_line_comments(lines), path.name) if of_c else document(lines)
    print("\n".join(documented))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
