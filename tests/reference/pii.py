r"""Slow twin of the kernels of `pii`: its grammars as regular expressions, addresses read by `ipaddress`.

`replaced(text, ...)` is the whole step on one text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping

Finder = Callable[[str], list[tuple[int, int, int]]]
"""(start, end, kind) of each span, in characters."""

OCTET = r"(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
DOMAIN = rf"(?:(?:{LABEL}\.)+(?:[xX][nN]--[A-Za-z0-9-]*[A-Za-z0-9]|[A-Za-z]{{2,}})(?!-*[A-Za-z0-9])"
DOMAIN += rf"|\[(?:{OCTET}\.){{3}}{OCTET}\](?:[.%+'-]*[A-Za-z0-9_])*)"
LOCAL = r"[A-Za-z0-9_][A-Za-z0-9_%+'-]*(?:\.[A-Za-z0-9_%+'-]+)*"
OUR_EMAIL = re.compile(rf"(?<![A-Za-z0-9_]){LOCAL}@{DOMAIN}(?:(?:\.{LOCAL})?@{DOMAIN})*")
ACCOUNT, ACCOUNT_BEGINS = re.compile("(git|hg|svn)@[^@]*"), r"(?<![A-Za-z0-9_%+'.-])"
THEIR_EMAIL = re.compile(
    r"\b[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@"
    rf"(?:(?:{LABEL}\.)+{LABEL}|\[(?:{OCTET}\.){{3}}(?:{OCTET}|[A-Za-z0-9-]*[A-Za-z0-9]:)\])"
)
THEIR_IP = re.compile(rf"(?:{OCTET}\.){{3}}{OCTET}")

QUAD = r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}"
QUAD += r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?![0-9])"
IP_BEGINS = r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9][.+~])"
SEPARATOR, VERSION = r"""[ \t\n\r:="'(]""", "(?ai:version|release)"
NO_VERSION = f"(?<!{VERSION}{SEPARATOR})(?<!{VERSION}{SEPARATOR * 2})"
IP_ENDS = r"(?![A-Za-z0-9_]|\.[0-9]|[+~][A-Za-z0-9])"
OUR_IPV4 = re.compile(
    rf"{IP_BEGINS}(?<![A-Za-z]-){NO_VERSION}{QUAD}{IP_ENDS}(?!-(?!{QUAD}|[0-9A-Fa-f]{{1,5}}:)[A-Za-z0-9])"
)
IPV6_ENDS = re.compile(IP_ENDS + "(?!-(?![0-9A-Fa-f]{1,5}:)[A-Za-z0-9])")
IPV6_BODY = re.compile(r"[0-9A-Fa-f:]*:[0-9A-Fa-f:]*")
QUAD_ALONE = re.compile(QUAD)

NOT_PUBLIC_NETWORKS = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 2001::/23 2001:db8::/32 3fff::/20"""
NOT_PUBLIC = [ipaddress.ip_network(network) for network in NOT_PUBLIC_NETWORKS.split()]
IBANS_OF_COUNTRIES = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28
EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27
JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18
NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28
TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"""
IBAN_LENGTHS = {entry[:2]: int(entry[2:]) for entry in IBANS_OF_COUNTRIES.split()}


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if address.version == 4:
        return not any(address in network for network in NOT_PUBLIC if network.version == 4)
    inner = ipv4_inside(address)
    if inner is not None:
        return is_public(inner)
    return address in ipaddress.ip_network("2000::/3") and not any(
        address in network for network in NOT_PUBLIC if network.version == 6
    )


def ipv4_inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in ipaddress.ip_network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def emails(text: str, definition: str = "headrace") -> list[tuple[int, int, int]]:
    if definition == "datatrove":
        return [(*match.span(), 0) for match in THEIR_EMAIL.finditer(text)]
    return [
        (*match.span(), 0)
        for match in OUR_EMAIL.finditer(text)
        if not (ACCOUNT.fullmatch(match[0]) and begins(ACCOUNT_BEGINS, text, match.start()))
    ]


def addresses(
    text: str, definition: str = "headrace", public_only: bool = True
) -> list[tuple[int, int, int]]:
    if definition == "datatrove":
        spans = []
        for match in THEIR_IP.finditer(text):
            try:
                address = ipaddress.IPv4Address(match[0])
            except ValueError:
                continue
            if not public_only or is_public(address):
                spans.append((*match.span(), 0))
        return spans
    spans, at = [], 0
    while at < len(text):
        four, six = OUR_IPV4.match(text, at), IPV6_BODY.match(text, at)
        if six:
            found = ipv6_at(text, at, six.end())
            if found:
                start, end, address = found
                if looks_like_ipv6(text[start:end], address) and (is_public(address) or not public_only):
                    spans.append((start, end, 0 if re.match(":[0-9A-Fa-f:]", text[end:]) else 1))
                at = end
                continue
            # An IPv4 address can only begin behind the last colon.
            at = text.rindex(":", at, six.end()) + 1
            continue
        if four:
            if not public_only or is_public(ipaddress.IPv4Address(four[0])):
                spans.append((*four.span(), 0))
            at = four.end()
            continue
        at += 1
    return spans


def ipv6_at(text: str, start: int, end: int) -> tuple[int, int, ipaddress.IPv6Address] | None:
    if text.startswith(":", start) and not text.startswith("::", start):
        start += 1
    quad = QUAD_ALONE.match(text, max(text.rfind(":", start, end) + 1, start))
    if quad and quad.end() > end:
        end = quad.end()
    elif text[start:end].endswith(":") and not text[start:end].endswith("::"):
        end -= 1
    if text[start:end].endswith(":") and text.startswith("@", end):
        return None
    if not begins(IP_BEGINS, text, start) or not IPV6_ENDS.match(text, end):
        return None
    try:
        return start, end, ipaddress.IPv6Address(text[start:end])
    except ValueError:
        return None


def looks_like_ipv6(text: str, address: ipaddress.IPv6Address) -> bool:
    if address.ipv4_mapped or address in ipaddress.ip_network("64:ff9b::/96"):
        return True
    if address in ipaddress.ip_network("2000::/3"):
        return re.match("[0-9A-Fa-f]{4}:[0-9A-Fa-f]", text) is not None
    local = address in ipaddress.ip_network("fc00::/7") or address in ipaddress.ip_network("fe80::/10")
    return local and not text.endswith(":") and re.search("[0-9]", text) is not None


BEGINS = r"(?<![A-Za-z0-9_+~./-])" + "".join(rf"(?<!:[0-9A-Fa-f]{{{digits}}}:)" for digits in range(5))
ENDS = r"(?![A-Za-z0-9_]|[./+~-][A-Za-z0-9]|:[0-9A-Fa-f:])"
GROUPS = r"(?P<separator>[ ./-])[0-9]{2,8}"
INTERNATIONAL = (
    r"\+[1-9][0-9]{0,2}[ .-]?\([0-9]{1,5}\)[ .-]?[0-9]+(?:[ .-][0-9]+)*",
    r"\+[1-9][0-9]*(?:[ .-][0-9]+)*",
)
INTERNATIONAL_ENDS = r"(?![A-Za-z0-9_]|[.+~-][0-9]|:[0-9A-Fa-f:])"
NORTH_AMERICAN = (
    r"(?:1[ .-])?\([2-9][0-9]{2}\) ?[2-9][0-9]{2}-[0-9]{4}",
    r"(?:1[ .-])?[2-9][0-9]{2}(?P<separator>[.-])[2-9][0-9]{2}(?P=separator)[0-9]{4}",
)
TRUNK = (
    rf"0[1-9][0-9]{{0,4}}{GROUPS}(?:(?P=separator)[0-9]{{2,8}}){{0,3}}",
    rf"\(0[1-9][0-9]{{0,4}}\) ?[0-9]{{2,8}}(?:{GROUPS}(?:(?P=separator)[0-9]{{2,8}}){{0,2}})?",
)
ISSUERS = (
    r"4([0-9]{12}|[0-9]{15}|[0-9]{18})",
    r"(5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720|35(2[89]|[3-8][0-9]))[0-9]{12}",
    r"3[47][0-9]{13}",
    r"(30[0-5][0-9]|3095|36[0-9]{2}|3[89][0-9]{2})[0-9]{10}",
    r"(50|5[6-8]|6[0-9])[0-9]{14,17}",
)
CARDS = (
    r"[0-9]{13,19}",
    r"[0-9]{4}(?P<separator>[ -])[0-9]{4}(?P=separator)[0-9]{4}(?P=separator)[0-9]{4}",
    r"[0-9]{4}(?P<separator>[ -])[0-9]{6}(?P=separator)[0-9]{4,5}",
)
IBANS = (r"[A-Z]{2}[0-9]{2}[A-Z0-9]+", r"[A-Z]{2}[0-9]{2}(?: [A-Z0-9]{4})+(?: [A-Z0-9]{1,3})?")
LONGEST = 60


def longest_at(text: str, at: int, patterns: tuple[str, ...], ends: str, fits: Callable[[str], bool]) -> int:
    """The greatest end at which one of the patterns matches from `at` on, the rest fits `ends`, and the
    match `fits`; 0 for none."""
    for end in range(min(len(text), at + LONGEST), at, -1):
        matches = any(re.fullmatch(each, text[at:end]) for each in patterns)
        if matches and re.match(ends, text[end:]) and fits(text[at:end]):
            return end
    return 0


def digits_of(text: str) -> str:
    return re.sub("[^0-9]", "", text)


def everywhere(text: str, end_at: Callable[[int, int], int]) -> list[tuple[int, int, int]]:
    """`end_at(at, done)`: where what begins at `at` ends, 0 for nothing; the last one ended at `done`."""
    spans, at, done = [], 0, 0
    while at < len(text):
        end = end_at(at, done)
        if end:
            spans.append((at, end, 0))
        at, done = (end, end) if end else (at + 1, done)
    return spans


def begins(pattern: str, text: str, at: int) -> bool:
    return re.compile(pattern).match(text, at) is not None


def is_international(found: str) -> bool:
    digits = digits_of(found)
    return (10 if found[1:] == digits else 8) <= len(digits) <= 15


def is_national(found: str) -> bool:
    return 9 <= len(digits_of(found)) <= 11 and not re.fullmatch("[0-9]{5}-[0-9]{4}", found)


def phones(text: str) -> list[tuple[int, int, int]]:
    def end_at(at: int, done: int) -> int:
        if begins(BEGINS + r"\+", text, at):
            return longest_at(text, at, INTERNATIONAL, INTERNATIONAL_ENDS, is_international)
        if not begins(BEGINS + r"[(0-9]", text, at) and not (0 < done == at and text[at] == "("):
            return 0
        end = longest_at(text, at, NORTH_AMERICAN, ENDS, lambda found: True)
        if end or (begins(r"(?<=[0-9] )", text, at) and at - 1 > done):
            return end
        return longest_at(text, at, TRUNK, ENDS, is_national)

    return everywhere(text, end_at)


def passes_luhn(number: str) -> bool:
    digits = [int(digit) for digit in digits_of(number)[::-1]]
    return sum(digits[::2] + [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]) % 10 == 0


def is_card(found: str) -> bool:
    return any(re.fullmatch(issuer, digits_of(found)) for issuer in ISSUERS) and passes_luhn(found)


def cards(text: str) -> list[tuple[int, int, int]]:
    return everywhere(
        text,
        lambda at, _: longest_at(text, at, CARDS, ENDS, is_card) if begins(BEGINS + "[0-9]", text, at) else 0,
    )


def is_iban(found: str) -> bool:
    number = found.replace(" ", "")
    if IBAN_LENGTHS.get(number[:2]) != len(number):
        return False
    return int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97 == 1


def ibans(text: str) -> list[tuple[int, int, int]]:
    return everywhere(
        text,
        lambda at, _: longest_at(text, at, IBANS, ENDS, is_iban) if begins(BEGINS + "[A-Z]", text, at) else 0,
    )


def replaced(text: str, spans: list[tuple[int, int, int]], replacements: Mapping[int, str]) -> str:
    pieces, done = [], 0
    for start, end, kind in spans:
        pieces += [text[done:start], replacements[kind]]
        done = end
    return "".join([*pieces, text[done:]])


def redacted(
    text: str, definition: str, public_only: bool, replacements: Mapping[str, str]
) -> tuple[str, dict[str, int]]:
    """The text with every kind in `replacements` replaced, in the order of the step, and how many of each."""
    finders: dict[str, Callable[[str], list[tuple[int, int, int]]]] = {
        "email": lambda text: emails(text, definition),
        "ip": lambda text: addresses(text, definition, public_only),
        "iban": ibans,
        "card": cards,
        "phone": phones,
    }
    found = {}
    for kind, find in finders.items():
        names = ("ipv4", "ipv6") if kind == "ip" else (kind,)
        if names[0] in replacements:
            spans = find(text)
            found[kind] = len(spans)
            text = replaced(text, spans, {number: replacements[name] for number, name in enumerate(names)})
    return text, found
