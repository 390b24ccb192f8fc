"""The model's graph, coloured by the findings: the text of a Graphviz graph, and its SVG.

    green   receives an input           red      gives an output       brown   both
    grey    never matters               dashed   computes nothing: it passes on what it receives

A node shows the range of its output.
"""

from __future__ import annotations

import shutil
import subprocess

from psylang.analysis.structure import Structure
from psylang.errors import PsylangError

DOT_SECONDS_MAX = 120
_FILLS = {
    (False, False): "#f4f4f4",
    (True, False): "#c9e8c9",
    (False, True): "#f3c6c1",
    (True, True): "#dcc3a1",
}


class PictureError(PsylangError, RuntimeError):
    """No picture could be made: Graphviz is missing, or it failed."""


def dot(
    structure: Structure,
    labels: dict[str, list[str]],
    dead: frozenset[str],
    passing: frozenset[str],
) -> str:
    """The graph as Graphviz reads it. labels: lines below a node's name."""
    receiving = {node for nodes in structure.inputs.values() for node in nodes}
    giving = {node for nodes in structure.outputs.values() for node in nodes}
    lines = [
        f"digraph {_quoted(structure.name)} {{",
        '  graph [rankdir=TB, fontname="sans-serif"]',
        '  node [shape=box, style="filled,rounded", fontname="sans-serif", fontsize=11]',
        '  edge [color="#7a5ba8"]',
    ]
    for node in structure.nodes:
        fill = _FILLS[node in receiving, node in giving]
        style, ink = "filled,rounded", "#000000"
        if node in passing:
            style = "filled,rounded,dashed"
        if node in dead:
            fill, ink = "#dddddd", "#888888"
        kind = structure.kinds.get(node)
        head = f"{node} ({kind})" if kind else node
        text = "\\n".join(_escaped(line) for line in (head, *labels.get(node, ())))
        lines.append(
            f'  {_quoted(node)} [label="{text}", fillcolor="{fill}", style="{style}", '
            f'fontcolor="{ink}"]'
        )
    for edge in structure.edges:
        grey = edge.sender in dead or edge.receiver in dead or edge.name in dead
        look = ' [color="#bbbbbb"]' if grey else ""
        lines.append(f"  {_quoted(edge.sender)} -> {_quoted(edge.receiver)}{look}")
    return "\n".join([*lines, "}", ""])


def svg(graph: str) -> str:
    """Graphviz's picture of a graph. PictureError: `dot` is missing, or refused the graph."""
    program = shutil.which("dot")
    if program is None:
        raise PictureError(
            "a picture needs Graphviz's program dot: apt-get install graphviz, or "
            "https://graphviz.org/download; report.dot() is the graph's text"
        )
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=graph,
            capture_output=True,
            text=True,
            timeout=DOT_SECONDS_MAX,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise PictureError(f"dot took longer than {DOT_SECONDS_MAX} s for this graph") from None
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise PictureError(f"dot failed: {said.strip()}") from None
    return done.stdout


def _quoted(name: str) -> str:
    return f'"{_escaped(name)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
