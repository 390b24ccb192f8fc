"""Compiled objects on disk, so that later processes start in milliseconds.

One file per object: a header with the checksum, then the object. Files are written under another
name and renamed, so readers see all or nothing, and any number of processes may write the same one.
The checksum detects damaged files; they are removed and compiled again. The folder is bounded: the
least recently used file is removed first. If the folder is unusable (full, read-only, another
owner), there is one warning, and no cache. Machine code from there is executed, so each use opens
the folder once (trusted.py) and accesses files relative to it.

$XDG_CACHE_HOME/psylang (~/.cache/psylang), or $PSYLANG_CACHE_DIR. PSYLANG_CACHE_BYTES bounds it
(256 MiB); 0 switches it off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from psylang.runtime import trusted
from psylang.runtime.errors import ArgumentError, CacheWarning
from psylang.runtime.trusted import UntrustedError

BYTES_MAX = 256 << 20
MAGIC = b"psylang object 1\n"
SUFFIX = ".object"
UNFINISHED = ".part"
# A file that is still being written is younger; an older one was left by a killed writer.
UNFINISHED_AGE_S_MAX = 600.0
# Pruning leaves this part of the bound in use, so that not every write prunes.
PRUNED_TO = 0.8


@dataclass
class ObjectCache:
    """A folder of objects by key. Safe to share among threads and processes.

    folder: None if there is none. bytes_max: the bound of all files together; 0 or less for no
    cache.
    """

    folder: Path | None
    bytes_max: int = BYTES_MAX
    _warned: bool = field(default=False, repr=False)

    def get(self, key: str) -> bytes | None:
        """The object, or None if it is not there; a damaged one is removed first."""
        if self.folder is None or self.bytes_max <= 0:
            return None
        try:
            with trusted.opened(self.folder) as folder:
                return self._read(folder, key)
        except FileNotFoundError:
            return None
        except (OSError, UntrustedError) as error:
            self._warn_of_folder(error)
            return None

    def put(self, key: str, payload: bytes) -> None:
        """Stores the object. Warns once if it cannot."""
        if self.folder is None or self.bytes_max <= 0 or len(payload) > self.bytes_max:
            return
        name = _name(key)
        part = f"{name}.{secrets.token_hex(6)}{UNFINISHED}"
        try:
            with trusted.opened(self.folder, make=True) as folder:
                try:
                    _write(folder, part, _wrapped(payload, key))
                    os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    with contextlib.suppress(OSError):
                        os.unlink(part, dir_fd=folder)
                    raise
                self._prune(folder)
        except (OSError, UntrustedError) as error:
            self._warn_of_folder(error)

    def _read(self, folder: int, key: str) -> bytes | None:
        name = _name(key)
        payload = None
        try:
            payload = _unwrapped(trusted.read(name, folder), key)
        except UntrustedError as error:
            self._warn(
                f"{self.folder}/{name} is compiled anew: {error}. If others could write to the "
                f"folder, remove what they may have left there: rm -r {self.folder}"
            )
        with contextlib.suppress(OSError):
            if payload is None:
                os.unlink(name, dir_fd=folder)
            else:  # Time of the last use: the oldest is removed first.
                os.utime(name, dir_fd=folder, follow_symlinks=False)
        return payload

    def _prune(self, folder: int) -> None:
        """Removes the least recently used files until the folder is within its bound."""
        now = time.time()
        kept: list[tuple[float, int, str]] = []
        listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
        try:
            with os.scandir(listed) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        found = entry.stat(follow_symlinks=False)
                        if entry.name.endswith(SUFFIX):
                            kept.append((found.st_mtime, found.st_size, entry.name))
                        elif (
                            entry.name.endswith(UNFINISHED)
                            and now - found.st_mtime > UNFINISHED_AGE_S_MAX
                        ):
                            os.unlink(entry.name, dir_fd=folder)
        finally:
            os.close(listed)
        total = sum(size for _, size, _ in kept)
        if total <= self.bytes_max:
            return
        for _, size, name in sorted(kept):
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            total -= size
            if total <= self.bytes_max * PRUNED_TO:
                return

    def _warn_of_folder(self, why: OSError | UntrustedError) -> None:
        reason = why.strerror or type(why).__name__ if isinstance(why, OSError) else str(why)
        self._warn(
            f"compiled models are not kept in {self.folder}: {reason}. Everything works, but each "
            "process compiles again; PSYLANG_CACHE_DIR names another folder, "
            "PSYLANG_CACHE_BYTES=0 asks for none"
        )

    def _warn(self, message: str) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(message, CacheWarning, stacklevel=2)


def user_cache() -> ObjectCache:
    """The cache that the environment configures. ArgumentError: PSYLANG_CACHE_BYTES is no
    number."""
    return ObjectCache(_folder(), _bytes_max())


def _folder() -> Path | None:
    named = os.environ.get("PSYLANG_CACHE_DIR")
    if named:
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base and Path(base).is_absolute():  # The specification: a relative one is ignored.
        return Path(base) / "psylang"
    try:
        return Path.home() / ".cache" / "psylang"
    except RuntimeError:  # There is no home.
        return None


def _bytes_max() -> int:
    text = os.environ.get("PSYLANG_CACHE_BYTES", "")
    try:
        return int(text) if text else BYTES_MAX
    except ValueError:
        raise ArgumentError(
            f"PSYLANG_CACHE_BYTES={text} is no number of bytes; give one like {BYTES_MAX}, or 0"
        ) from None


def _wrapped(payload: bytes, key: str) -> bytes:
    return MAGIC + _checksum(payload, key) + payload


def _unwrapped(content: bytes, key: str) -> bytes | None:
    begin = len(MAGIC) + hashlib.sha256().digest_size
    payload = content[begin:]
    if content[:begin] != MAGIC + _checksum(payload, key):
        return None
    return payload


def _checksum(payload: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + payload).digest()


def _name(key: str) -> str:
    return f"{key}{SUFFIX}"


def _write(folder: int, name: str, content: bytes) -> None:
    """Not synced: the checksum detects damage by a power cut."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(content)
