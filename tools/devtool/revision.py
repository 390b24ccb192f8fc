"""The commit of this tree, and whether what is built from the tree differs from it.

Records of measurements and their tables do not count: a second record is of the same programs.
"""

from devtool.process import run

RECORDS = ("bench/results", "docs/results")


def changed() -> bool:
    """Whether files differ from HEAD, new ones included. Expects a repository."""
    others = [f":(exclude){folder}" for folder in RECORDS]
    return bool(run(["git", "status", "--porcelain", "--", ".", *others]).stdout.strip())


def commit() -> str:
    """Twelve digits of HEAD, with -dirty if files differ; "unknown" without a repository."""
    done = run(["git", "rev-parse", "--verify", "--quiet", "--short=12", "HEAD"])
    if done.returncode != 0:
        return "unknown"
    return done.stdout.strip() + ("-dirty" if changed() else "")
