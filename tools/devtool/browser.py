"""./dev check --only browser: the laboratories' pages in a browser without a screen.

The pages of short studies are opened as on a desk and as on a phone. A script behind its last
element looks at what the browser made of it, and writes what it saw into the document, which
chromium then prints. The pages themselves have no script.
"""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from devtool import build
from devtool.console import Status
from devtool.environment import BROWSER_PACKAGES, need_packages
from devtool.process import run
from devtool.tree import BUILD, shown

PRESET = "release"
FOLDER = BUILD / "browser"
BROWSER = "chromium-headless-shell"
# A browser without a display, a profile of the user or a sandbox, which root cannot have.
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--timeout=20000")
TEXT_PX_MIN = 10.0  # Smaller text of a chart cannot be read.


@dataclass(frozen=True)
class Screen:
    name: str
    width: int
    height: int


SCREENS = (Screen("desk", 1280, 900), Screen("phone", 390, 844))

# Before all else of the page: what goes to the console while it is read.
LISTEN = """
<script>
const said = [];
for (const level of ['error', 'warn']) {
  const tell = console[level];
  console[level] = (...all) => { said.push(level + ': ' + all.join(' ')); tell(...all); };
}
addEventListener('error', event =>
  said.push(event.message || 'cannot load ' + (event.target.src || event.target.href)), true);
addEventListener('unhandledrejection', event => said.push('rejected: ' + event.reason));
addEventListener('securitypolicyviolation', event => said.push('refused: ' + event.blockedURI));
</script>
"""
# What the browser made of the page, as JSON in an element of its own.
LOOK = """
<script>
addEventListener('load', () => {
  const charts = [...document.querySelectorAll('svg')].map(svg => {
    const box = svg.getBoundingClientRect();
    const all = [...svg.querySelectorAll('rect,circle,polyline')];
    const marks = all.map(m => m.getBoundingClientRect());
    const texts = [...svg.querySelectorAll('text')];
    const scale = box.width / svg.viewBox.baseVal.width;
    return {
      name: svg.getAttribute('aria-label'), width: box.width, height: box.height,
      drawn: marks.filter((m, at) =>  // A line may be level.
        m.width > 0 && (m.height > 0 || all[at].tagName === 'polyline')).length,
      marks: marks.length,
      text: Math.min(...texts.map(t => parseFloat(getComputedStyle(t).fontSize))) * scale,
      outside: [...marks, ...texts.map(t => t.getBoundingClientRect())].filter(m =>
        m.left < box.left - 1 || m.right > box.right + 1 || m.top < box.top - 1 ||
        m.bottom > box.bottom + 1).length,
    };
  });
  const seen = document.createElement('pre');
  seen.id = 'k2k-seen';
  seen.textContent = JSON.stringify({
    width: innerWidth, wide: document.documentElement.scrollWidth, charts,
    requests: performance.getEntriesByType('resource').length,
    text: parseFloat(getComputedStyle(document.body).fontSize),
    tables: document.querySelectorAll('table').length, said,
  });
  document.body.append(seen);
});
</script>
"""
SEEN = re.compile(r'<pre id="k2k-seen">(.*?)</pre>', re.DOTALL)


@dataclass(frozen=True)
class Study:
    name: str  # Of the laboratory.
    options: tuple[str, ...]
    charts: tuple[str, ...]


STUDIES = (
    # A chart of each kind: two settings without a cap, a governor, auto.
    Study(
        "interference",
        (
            *("single", "compute", "--source", "ubench"),
            *("--setting", "staged", "--setting", "monolithic", "--setting", "staged+cap=5%"),
            *("--setting", "default+cap=5%", "--setting", "default+loss=5%"),
            *("--run", "0.03", "--pairs", "2"),
        ),
        ("wall time of victims", "Pareto chart of ubench"),
    ),
    Study(
        "translation",
        ("--quick",),
        (
            "time of a load by the pages touched",
            "time of a step by chains",
            "simulated latency by work-items",
            "simulated latency of page faults by work-items",
        ),
    ),
)


def check_browser() -> tuple[list[str], str]:
    """Returns the problems found and a note for the table of steps."""
    need_packages(BROWSER_PACKAGES)
    build.build(PRESET, ("k2k_cli", "k2k_lab", "k2k_accesses"))
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    problems: list[str] = []
    for study in STUDIES:
        page = FOLDER / f"{study.name}.html"
        program = build.folder(PRESET) / "cli/k2k"
        with Status(f"k2k lab {study.name}"):
            done = run([program, "lab", study.name, *study.options, "--html", page])
        if done.returncode != 0:
            problems.append(f"k2k lab {study.name}: {done.stdout.strip()}")
            continue
        for screen in SCREENS:
            found = look(page, screen, study.charts)
            problems += [f"{study.name}, {screen.name}: {problem}" for problem in found]
    charts = sum(len(study.charts) for study in STUDIES)
    note = f"{charts} charts on {len(SCREENS)} screens; screenshots in {shown(FOLDER)}"
    return problems, note


def look(page: Path, screen: Screen, charts: Sequence[str]) -> list[str]:
    """Opens a page, keeps a screenshot beside it, and returns what is wrong with it."""
    looked = page.with_suffix(f".{screen.name}.html")
    looked.write_text(page.read_text().replace("<head>", f"<head>{LISTEN}", 1) + LOOK)
    picture = page.with_suffix(f".{screen.name}.png")
    size = f"--window-size={screen.width},{screen.height}"
    profile = f"--user-data-dir={FOLDER / 'profile'}"
    done = run([BROWSER, *OPTIONS, size, profile, "--dump-dom", looked.as_uri()])
    seen = what_was_seen(done.stdout)
    if seen is None:
        return [f"the browser printed no page: {done.stdout.strip()[-300:]}"]
    shot = run([BROWSER, *OPTIONS, size, profile, f"--screenshot={picture}", page.as_uri()])
    if not picture.exists():
        return [f"no screenshot: {shot.stdout.strip()[-300:]}"]
    return wrong_with(seen, screen, charts)


def what_was_seen(output: str) -> dict[str, Any] | None:
    found = SEEN.search(output)
    return json.loads(unescape(found[1])) if found else None


def wrong_with(seen: dict[str, Any], screen: Screen, charts: Sequence[str]) -> list[str]:
    problems = [f"console: {line}" for line in seen["said"]]
    if seen["width"] != screen.width:
        problems.append(f"the window is {seen['width']} pixels wide instead of {screen.width}")
    if seen["wide"] > seen["width"]:
        problems.append(f"the page is {seen['wide']} pixels wide: a reader must push it sideways")
    if seen["text"] < TEXT_PX_MIN:
        problems.append(f"its text has {seen['text']} pixels")
    if seen["requests"] != 0:
        problems.append(f"it asks for {seen['requests']} other files")
    if seen["tables"] == 0:
        problems.append("it has no table")
    names = [chart["name"] for chart in seen["charts"]]
    problems += [f"there is no chart '{name}', but {names}" for name in charts if name not in names]
    for chart in seen["charts"]:
        name = chart["name"]
        if chart["marks"] == 0 or chart["drawn"] != chart["marks"]:
            problems.append(f"{name}: {chart['drawn']} of {chart['marks']} marks are drawn")
        if chart["text"] < TEXT_PX_MIN:
            problems.append(f"{name}: its text has {chart['text']:.1f} pixels, too few to read")
        if chart["outside"] != 0:
            problems.append(f"{name}: {chart['outside']} marks or texts are cut off")
    return problems
