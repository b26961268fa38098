"""The secret of a user, with which what this program keeps is told from what others have written.

It lies in the user's configuration, and only they can read it. Entries of the cache and jobs of a
run carry a code made with it (HMAC, RFC 2104): what was edited, or comes from someone else, is
made again.
"""

import functools
import hmac
import os
import secrets
import stat
from pathlib import Path

from cyclebound.sim.base.errors import UserError

__all__ = ["config_root", "mac", "made_here"]

_FILE = "secret"
_BYTES = 32


def config_root() -> Path:
    """Folder of the user's keys: ``$CYCLEBOUND_CONFIG``, or in the user's configuration."""
    own = os.environ.get("CYCLEBOUND_CONFIG")
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(own) if own else Path(base) / "cyclebound"


def mac(*parts: str) -> str:
    """The code of these texts."""
    text = "\0".join(f"{len(part)}\0{part}" for part in parts)
    return hmac.new(_secret(config_root()), text.encode(errors="surrogateescape"),
                    "sha256").hexdigest()


def made_here(code: str, *parts: str) -> bool:
    """Whether ``code`` is that of these texts."""
    return hmac.compare_digest(code.encode(errors="replace"), mac(*parts).encode())


@functools.cache
def _secret(folder: Path) -> bytes:
    """The secret that is kept in a folder, made at first. Raises `UserError`."""
    path = folder / _FILE
    try:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = folder / f"{_FILE}.{os.getpid()}.{secrets.token_hex(4)}"
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_hex(_BYTES).encode())
            try:
                os.link(new, path)  # unless another process was first
            except FileExistsError:
                pass
            finally:
                new.unlink()
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise UserError(f"{path} is a secret, and others may read it: `chmod 600` it, or "
                            "remove it for a new one")
        found = path.read_bytes().strip()
    except OSError as error:
        raise UserError(f"cannot keep a secret in {folder}: {error.strerror or error}; set "
                        "CYCLEBOUND_CONFIG to a folder of yours") from error
    if len(found) < _BYTES:
        raise UserError(f"{path} is no secret: it has {len(found)} bytes, not {2 * _BYTES}; "
                        "remove it for a new one")
    return found
