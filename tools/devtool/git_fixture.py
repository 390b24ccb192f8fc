"""Repositories for tests."""

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """Runs git in a folder, as an author of its own, and returns what it printed."""
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(
        ["git", *author, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()
