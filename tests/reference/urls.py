"""Slow twin of `dataprep/kernels/urls.py` and `url_words.py`: sets of strings."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes


@dataclass(frozen=True, slots=True)
class Sites:
    domains: set[str] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)


def lower(text: str) -> str:
    return re.sub("[A-Z]", lambda match: match[0].lower(), text)


def parts(url: str) -> tuple[str, str, str]:
    """(host, path and query, fragment with its sign)."""
    url = re.sub(r"\A[\x00-\x20]+|[\x00-\x20]+\Z", "", url)
    url = re.sub(r"\A(?:[A-Za-z0-9+.-]*://|//)", "", url)
    match = re.fullmatch(r"([^/?#\\]*)([^#]*)(.*)", url, re.DOTALL)
    assert match is not None
    host = re.sub(r":[0-9]*\Z", "", match[1].rpartition("@")[2])
    return lower(host.rstrip(".")), match[2], match[3]


def read(text: str) -> Sites:
    """The sites of a list. Raises ValueError for a line that says nothing that we read."""
    sites = Sites()
    for line in text.split("\n"):
        tokens = re.findall(r"[^\x00-\x20]+", line)
        comment = next((number for number, token in enumerate(tokens) if token.startswith("#")), len(tokens))
        tokens = tokens[:comment]
        if len(tokens) > 1:
            if not is_address(tokens[0]):
                raise ValueError(line)
            for token in tokens[1:]:
                add(sites, token, True)
        elif tokens:
            add(sites, tokens[0], False)
    return sites


def is_address(token: str) -> bool:
    if re.fullmatch("[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*%.*", token):
        return True
    if not re.fullmatch("[0-9A-Fa-f:.]*", token) or re.match(r"[^:]*\.[^:]*[A-Fa-f]", token):
        return False
    return token.count(".") == 3 or token.count(":") > 1


def add(sites: Sites, token: str, in_hosts_file: bool) -> None:
    if len(token) > 2 and token.startswith("*."):
        token = token[2:]
    elif len(token) > 1 and token.startswith("."):
        token = token[1:]
    host, rest, fragment = parts(token)
    strange = re.sub(r"[A-Za-z0-9._\[\]:%~\x80-\U0010ffff-]", "", host)
    if not host or strange or (not rest and fragment):
        raise ValueError(token)
    if in_hosts_file and "." not in host:
        return
    rest = rest.rstrip("/")
    if rest:
        sites.pages.add(without_www(host) + rest)
    else:
        sites.domains.add(host)


def without_www(host: str) -> str:
    return host[4:] if host.startswith("www.") and len(host) > 4 else host


def hits(url: str, sites: Sites) -> tuple[bool, bool]:
    """Whether a domain of the URL is listed, and whether a page is."""
    host, rest, _ = parts(url)
    if not host:
        return False, False
    suffixes = {host, "www." + host} | {host[match.end() :] for match in re.finditer(r"\.", host)}
    prefixes = {rest} | {rest[: match.start()] for match in re.finditer("[/?]", rest) if match.start()}
    pages = {without_www(host) + prefix for prefix in prefixes}
    return bool(suffixes & sites.domains), bool(pages & sites.pages)


def letters(url: str) -> str:
    """ASCII letters and digits in lower case, a space for anything else."""
    plain = re.sub("%[0-9A-Fa-f]{2}", lambda match: unquote_to_bytes(match[0]).decode("latin-1"), url)
    return re.sub("[^a-z0-9]", " ", lower(plain))


def count_words(url: str, words: Collection[str]) -> int:
    return len(set(letters(url).split()) & set(words))


def count_parts(url: str, parts: Collection[str]) -> int:
    joined = letters(url).replace(" ", "")
    return sum(part in joined for part in set(parts))


TRACKING = (
    r"utm_.*|_ga|_gl|_hsenc|_hsmi|dclid|fbclid|gbraid|gclid|gclsrc|igshid|mc_cid|mc_eid|mkt_tok|msclkid|"
)
TRACKING += r"oly_anon_id|oly_enc_id|srsltid|ttclid|twclid|vero_id|wbraid|wickedid|yclid|ysclid"


def form(url: str) -> str:
    """Twin of `dataprep/kernels/url_forms.py`."""
    url = re.sub(r"\A[\x00-\x20]+|[\x00-\x20]+\Z", "", url)
    match = re.fullmatch(r"(?:([A-Za-z0-9+.-]*)://|//)?([^/?#\\]*)([^?#]*)([^#]*)(.*)", url, re.DOTALL)
    assert match is not None
    scheme, authority, path, query, fragment = (part or "" for part in match.groups())
    user, at, host = authority.rpartition("@")
    scheme = lower(scheme)
    ported = re.fullmatch(r"(.*?)(?::([0-9]*))?", host, re.DOTALL)
    assert ported is not None
    name, port = lower(ported[1].rstrip(".")), ported[2] or ""
    if not name:
        return ""
    own_ports = {"http": 80, "https": 443}
    result = "" if scheme in ("", "http", "https") else f"{scheme}://"
    result += user + at + without_www(name)
    if port and own_ports.get(scheme) != int(port):
        result += ":" + port
    result += percent(path.rstrip("/"))
    kept = [each for each in query[1:].split("&") if each]
    kept = [each for each in kept if not re.fullmatch(TRACKING, lower(each.split("=")[0]), re.DOTALL)]
    result += "?" + percent("&".join(kept)) if kept else ""
    return result + percent(fragment) if fragment[1:2] in ("!", "/") else result


def percent(text: str) -> str:
    def plain(match: re.Match[bytes]) -> bytes:
        byte = bytes.fromhex(match[0][1:].decode()) if len(match[0]) == 3 else match[0]
        return byte if re.fullmatch(rb"[A-Za-z0-9._~-]", byte) else b"%%%02X" % byte[0]

    return re.sub(rb"%[0-9A-Fa-f]{2}|[\x80-\xff]", plain, text.encode()).decode()
