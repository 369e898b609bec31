"""Texts that may hold a password: no message repeats them, and no command line takes them."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "..."

_SCHEMES = re.compile(r"(?:^|(?<=[#'\"]))[A-Za-z][A-Za-z0-9+.-]+://")
_USER_INFO = re.compile(r"(?<!:)//[^/\s]*@")
"""An @ behind the slashes of a URL that lacks its colon."""

_PORTS = re.compile(r"\[[0-9A-Fa-f:.]*\]|:[0-9]+(?=[,/?#]|$)")
"""What has colons and is no password, if the @ behind it is encoded: IPv6 addresses and ports."""

_PARAMETERS = re.compile(r"(?<![\w.%/-])([\w.%-]+)\s*=|[;?&]\s*([\w.%-]+)\s*:")
"""Of a URL or of libpq; a name behind a slash is a partition's (``s3a://lake/key=5/``)."""

_SECRET = re.compile(r"pass|secret|token|key|credential|jwt|sas|pwd|^sig$|^auth$", re.IGNORECASE)
_NAMES_A_FILE = re.compile(r"(file|path|provider|^ssl_?key)$", re.IGNORECASE)
"""passfile, sslkey, credentials_file: where a secret is, not what it is."""


def secret_name(name: str) -> bool:
    """Whether a parameter of this name holds a secret."""
    return _SECRET.search(name) is not None and not _NAMES_A_FILE.search(name)


def holds_secret(text: str) -> bool:
    """Whether a text looks like a URL with a password, or has a parameter that by its name holds a secret."""
    plain = unquote(text)
    if _has_user_info(_SCHEMES.sub("", text)) or _has_user_info(_PORTS.sub("", _SCHEMES.sub("", plain))):
        return True
    found = [name for some in (text, plain) for pair in _PARAMETERS.findall(some) for name in pair if name]
    return any(secret_name(unquote(name)) for name in found)


def _has_user_info(text: str) -> bool:
    """Whether a colon stands before an @, wherever they are, or an @ behind slashes."""
    return ":" in text[: max(text.rfind("@"), 0)] or _USER_INFO.search(text) is not None
