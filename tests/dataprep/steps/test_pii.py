from __future__ import annotations

import gzip
import ipaddress
import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.pii import KINDS, PII, PiiParams
from tests.dataprep.kernels.pii_texts import text_lists
from tests.dataprep.kernels.strategies import sliced
from tests.reference import pii as slow
from tests.reference.zstd_lines import texts_of

NAMES = ("email", "ipv4", "ipv6", "phone", "card", "iban")
TAGS = {f"{name}_replacement": f"<{name.upper()}>" for name in NAMES}
EVERYTHING: dict[str, Any] = dict.fromkeys(KINDS, "redact")

params = st.builds(
    PiiParams,
    definition=st.sampled_from(["headrace", "datatrove"]),
    public_only=st.booleans(),
    **{kind: st.sampled_from(["redact", "keep"]) for kind in KINDS},
    email_replacement=st.sampled_from(["email@example.com", "<EMAIL>", "", "x", "\u4e2d"]),
)


def redacted(texts: Texts, how: PiiParams) -> tuple[list[str], dict[str, list[int]]]:
    new, signals = PII.edit(Batch.of(texts), how)
    return new.to_strings(), {name: values.tolist() for name, values in signals.items()}


def slowly(strings: list[str], how: PiiParams) -> tuple[list[str], dict[str, list[int]]]:
    names = [name for name in NAMES if getattr(how, "ip" if name in ("ipv4", "ipv6") else name) == "redact"]
    replacements = {name: getattr(how, f"{name}_replacement") for name in names}
    done = [slow.redacted(string, how.definition, how.public_only, replacements) for string in strings]
    return [text for text, _ in done], {
        f"{kind}s": [found.get(kind, 0) for _, found in done] for kind in KINDS
    }


@given(text_lists, params)
def test_texts_and_counts_are_those_of_the_slow_twin(strings: list[str], how: PiiParams) -> None:
    assert redacted(sliced(strings), how) == slowly(strings, how)


@given(text_lists, st.booleans(), st.sampled_from([{}, TAGS, dict.fromkeys(TAGS, "NAME")]))
@example(["x@a.b'c@d.ef", "a@b.com@c.org", "a@b.com@", "8.8.8.8-8.8.4.4", "a@b.com.8.8.8.8"], True, TAGS)
@example(["a@b.com@c.org", "a@b.com@", "8.8.8.8-8.8.4.4", "a@b.com.8.8.8.8"], True, {})
@example(["2002:808:808::@c.de", "a@[8.8.8.8]-a", "a@[8.8.8.8].b@c.de", "a@[8.8.8.8]."], False, {})
@example(
    ["a@[8.8.8.8]a", "a@[8.8.8.8].com", "a@[8.8.8.8]4111 1111 1111 1111", "a@[8.8.8.8]_x@c.de"], False, {}
)
@example(["+44 20 7946 0958(020) 7946 0958", "+44 20 7946 0958(202) 555-0143"], False, {})
@example(["::ffff:8.8.8.8:a", "::ffff:8.8.8.8:53", "64:ff9b::8.8.4.4:2", "2a00:1450::8.8.8.8:5"], False, {})
@example(["::ffff:8.8.8.8:a", "::ffff:8.8.8.8:53", "64:ff9b::8.8.4.4:2", "2a00:1450::8.8.8.8:5"], False, TAGS)
@example(["2001:4860::8888.5.6.7", "a@b.com.8.8.8.8.8.8.8.8"], False, {})
def test_twice_is_once(strings: list[str], public_only: bool, names: dict[str, str]) -> None:
    how = PiiParams(**EVERYTHING, **names, public_only=public_only)
    once, _ = redacted(Texts.from_strings(strings), how)
    assert redacted(Texts.from_strings(once), how)[0] == once


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Write to jane.doe@mail.example.org.", "Write to <EMAIL>."),
        ("<mailto:o'neil+news_1@a-b.co.uk>", "<mailto:<EMAIL>>"),
        ("'x@y.com' \"x@y.com\" {x@y.com}", "'<EMAIL>' \"<EMAIL>\" {<EMAIL>}"),
        ("https://lists.example.org/list/dev@lists.example.org/msg1", "https://lists.example.org/list/<EMAIL>/msg1"),
        ("\u90ae\u7bb1x@y.com\u3002\u8bf7", "\u90ae\u7bb1<EMAIL>\u3002\u8bf7"),
        ("x@\u043f\u0440\u0438.com x@xn--e1afmkfd.xn--p1ai", "x@\u043f\u0440\u0438.com <EMAIL>"),
        ("name@[192.168.0.1] react@16.8.0 @media a@b @a.com", "<EMAIL> react@16.8.0 @media a@b @a.com"),
        ("8.8.8.8:53, 8.8.4.4/32; [1.1.1.1].", "<IPV4>:53, <IPV4>/32; [<IPV4>]."),
        ("8.8.8.8-8.8.8.10 8.8.8.8.rev.example.net", "<IPV4>-<IPV4> <IPV4>.rev.example.net"),
        ("git@host.org:a/b.git ssh://hg@host.org/a (svn@host.org) git+a@host.org x-git@host.org",
         "git@host.org:a/b.git ssh://hg@host.org/a (svn@host.org) <EMAIL> <EMAIL>"),
        ("x@y.com.git@host.org git@a.com@b.com Git@host.org", "<EMAIL> <EMAIL> <EMAIL>"),
        ("version 3.8.4.2, SQLite Release\n3.8.7.4, Standards-Version: 3.7.2.0, version=\"4.3.2.1\"", None),
        ("released 8.8.8.8; versions 8.8.8.8; version of 8.8.8.8",
         "released <IPV4>; versions <IPV4>; version of <IPV4>"),
        ("1.2.3.4-1 1.2.3.4+dfsg 1.2.3.4~rc1 v1.2.3.4 lib-1.2.3.4 so.1.2.3.4", None),
        ("1.2.3.4.5 1.2.3.04 1.2.3.256 1.2.3 10.1.1.1 127.0.0.1 192.168.1.1", None),
        ("2001:4860:4860::8888 [2a00:1450::200e]:80", "<IPV6> [<IPV6>]:80"),
        ("::ffff:8.8.8.8:53 [::ffff:8.8.8.8]:53", "<IPV4>:53 [<IPV6>]:53"),
        ("ip:2001:4860:4860::8888, ::ffff:8.8.8.8.", "ip:<IPV6>, <IPV6>."),
        ("12:30:45 00:1b:44:11:3a:b7 std::dec a::b dead::beef x[1::2] in 1970:: 2001:db8::1 ::1", None),
        ("00:11:22:33:44:55:66:77 43:51:43:a1:b5:fc:8b:b7:0a:3a:a9:b1:0f:66:73:a8 1:2:3:4:5:6:7:8", None),
        ("+44 20 7946 0958 or +1 (202) 555-0100.", "<PHONE> or <PHONE>."),
        ("(202) 555-0143, 202-555-0143, 1.202.555.0143", "<PHONE>, <PHONE>, <PHONE>"),
        ("01 23 45 67 89; 020 7946 0958; (030) 123456-78; 030/1234567", "<PHONE>; <PHONE>; <PHONE>; <PHONE>"),
        ("2024-05-12 02110-1301 1 073 741 824 01.02.2003 +12345678 a/01/05990000.html 3.14159265358", None),
        ("4111 1111 1111 1111, 4111111111111111 12/27, 3782-822463-10005", "<CARD>, <CARD> 12/27, <CARD>"),
        ("4111 1111 1111 1112 /20190517105107/ 1234567812345670", None),
        ("DE89 3704 0044 0532 0130 00 and GB82WEST12345698765432.", "<IBAN> and <IBAN>."),
        ("DE89 3704 0044 0532 0130 01 gb82west12345698765432 XX82WEST12345698765432", None),
    ],
)  # fmt: skip
def test_by_example(text: str, wanted: str | None) -> None:
    how = PiiParams(**EVERYTHING, **TAGS)
    expected = [text if wanted is None else wanted]
    assert redacted(Texts.from_strings([text]), how)[0] == expected == slowly([text], how)[0]


def test_local_addresses_too() -> None:
    how = PiiParams(public_only=False, **TAGS)
    text = (
        "10.0.0.1 fe80::1%eth0 fd00::12 2001:db8::1 ::ffff:10.0.0.1; dead::beef fe80:: ::1 [::2] 1970:: a::1"
    )
    wanted = "<IPV4> <IPV6>%eth0 <IPV6> <IPV6> <IPV6>; dead::beef fe80:: ::1 [::2] 1970:: a::1"
    assert redacted(Texts.from_strings([text]), how)[0] == [wanted]


def test_defaults() -> None:
    text = "a@b.com 8.8.8.8 2a00:1450::1 +44 20 7946 0958 4111111111111111"
    texts = Texts.from_strings(["plain", text])
    new, signals = redacted(texts, PiiParams())
    assert new[1] == "email@example.com 192.0.2.1 2001:db8::1 +44 20 7946 0958 4111111111111111"
    assert signals == {"emails": [0, 1], "ips": [0, 2], "ibans": [0, 0], "cards": [0, 0], "phones": [0, 0]}
    clean = Texts.from_strings(["plain 1.5: yes", ""])
    assert PII.edit(Batch.of(clean), PiiParams())[0] is clean


def test_limits() -> None:
    texts = Texts.from_strings(["", "a@b.com", "a@b.com a@b.com 8.8.8.8"])

    def reasons(how: PiiParams) -> list[list[str]]:
        found = PII.checks(PII.edit(Batch.of(texts), how)[1], how)
        return [[check.reason for check in found if check.dropped[row]] for row in range(len(texts))]

    assert reasons(PiiParams()) == [[], [], []]
    assert reasons(PiiParams(max_emails=1, max_ips=0)) == [[], [], ["pii_emails", "pii_ips"]]
    assert reasons(PiiParams(max_emails=0)) == [[], ["pii_emails"], ["pii_emails"]]


def test_a_limit_measures_nothing() -> None:
    assert measuring_parameters(PII, PiiParams(max_ips=3)) == measuring_parameters(PII, PiiParams())
    assert set(measuring_parameters(PII, PiiParams())) == {
        "definition", "public_only", *KINDS, *TAGS
    }  # fmt: skip
    assert PII.depends(PiiParams()) == {}
    assert PII.depends(PiiParams(definition="datatrove")) == {"unicode": unicodedata.unidata_version}
    assert PII.rewrites(PiiParams()) and not PII.rewrites(PiiParams(**dict.fromkeys(KINDS, "keep")))


@pytest.mark.parametrize(
    "wrong",
    [
        {"email": "remove"},
        {"email": True},
        {"definition": "dolma"},
        {"email_replacement": "a\nb"},
        {"email_replacement": "\ud800"},
        {"max_phones": 1},
        {"ip": "keep", "max_ips": 1},
        {"max_emails": -1},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PiiParams(**wrong)


# --- datatrove ----------------------------------------------------------------------------------------------

THEIRS = PiiParams(definition="datatrove", **TAGS)


@pytest.mark.parametrize(
    ("text", "wanted"),
    # What tests/pipeline/filters/test_pii_removal.py of datatrove 0.10.1 exercises, in strings of our own.
    [
        ("Reach me at someone@somewhere.io or later", "Reach me at <EMAIL> or later"),
        ("one@two.three two@three.four", "<EMAIL> <EMAIL>"),
        ("who..ever@place.net", "who..<EMAIL>"),
        ("nobody@nowhere", "nobody@nowhere"),
        ("name@a.b.c.example.museum and tail", "<EMAIL> and tail"),
        ("#hash/tag@site.org", "#<EMAIL>"),
        ("a@[1.2.3.x-y:]", "<EMAIL>"),
        (".9.9.9.0", ".<IPV4>"),
        ("999.9.9.9 and 9.9.9.999", "9<IPV4> and <IPV4>9"),
        ("192.168.5.5 and 5.5.5.5", "192.168.5.5 and <IPV4>"),
        ("10.0.0.1.8.8.8", "10.0.0.1.8.8.8"),
        ("07.7.7.7", "07.7.7.7"),
        ("2001:4860:4860::8888", "2001:4860:4860::8888"),
    ],
)
def test_definition_of_datatrove_by_example(text: str, wanted: str) -> None:
    assert redacted(Texts.from_strings([text]), THEIRS)[0] == [wanted]


def records(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] if path.suffixes[0] == ".jsonl" else line for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [
        "debian/changelogs.jsonl.zst",
        "debian/copyright_files.jsonl.gz",
        "chat/ubuntu_irc.jsonl.zst",
        "peps/peps.jsonl.zst",
        "manpages/manpages.jsonl.zst",
        "html/html_pages.jsonl.zst",
        "dedup/febrl_dataset3.csv.gz",
    ],
)
def test_matches_are_those_of_datatrove(file: str, data_pack: Path) -> None:
    """The whole text is equal when both put one fixed text in the place of each match."""
    original = pytest.importorskip("datatrove.pipeline.formatters.pii")
    path = data_pack / file
    strings = texts_of(path, 600) if path.suffix == ".zst" else records(path)
    formatter = original.PIIFormatter(email_replacement="<EMAIL>", ip_replacement="<IPV4>")
    wrong = [
        (theirs, ours)
        for string, ours in zip(strings, redacted(Texts.from_strings(strings), THEIRS)[0], strict=True)
        for theirs in [formatter.format(string)]
        if theirs != ours
    ]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("file", ["debian/changelogs.jsonl.zst", "chat/ubuntu_irc.jsonl.zst"])
def test_what_the_default_leaves_out(file: str, data_pack: Path) -> None:
    """Where datatrove finds something and we nothing, it is for a reason in docs/reference/pii.md."""
    for string in texts_of(data_pack / file, 80):
        for find in (slow.emails, slow.addresses):
            ours = find(string)
            for start, end, _ in find(string, "datatrove"):
                if any(start < last and first < end for first, last, _ in ours):
                    continue
                context = string[max(0, start - 3) : end + 8]
                if find is slow.emails:
                    local, _, domain = string[start:end].rpartition("@")
                    top = domain.rpartition(".")[2]
                    is_none = local[-1] in "!#$&*/=?^`{|}~" or not top.isalpha() or len(top) < 2
                    assert is_none or local in ("git", "hg", "svn"), context
                else:
                    before = r"""[A-Za-z0-9_][.+~]?\Z|[A-Za-z]-\Z|(?i:version|release)[ \t\r\n:="'(]{1,2}\Z"""
                    assert re.search(before, string[:start]) or re.match(
                        r"[A-Za-z0-9_]|[.+~-][A-Za-z0-9]", string[end:]
                    ), context


def test_public_addresses_of_this_python() -> None:
    """The table of the kernel and the interpreter's agree on what datatrove's formatter would ask about."""
    addresses = [ipaddress.IPv4Address(value) for value in range(1, 1 << 32, 30_000_001)]
    texts = Texts.from_strings([str(address) for address in addresses])
    counts = np.array(redacted(texts, PiiParams())[1]["ips"])
    assert counts.tolist() == [int(address.is_global) for address in addresses]
