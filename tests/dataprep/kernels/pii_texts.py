"""Texts that hypothesis draws for `pii`: addresses, numbers, and what stands around and inside of them."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = [
    *"aAfFgGzZ_0129.:;,@+-~'%/=!#{}[]() \n\t\"<>", "\u00e9", "\u4e2d", "\u0663", "\U0001f600", "\u200b",
    "\x00", "foo", "foo@bar.com", "x.y@a-b.co.uk", "@example.org", "@[8.8.8.8]", "@[1.2.3.a-b:]",
    "xn--p1ai", "..", "--", "com", ".com", "user_1+tag", "o'neil", "8.8.8.8", "1.2.3.4", "10.0.0.1",
    "255.255.255.255", "256", "192.168.", "01.02.03.04", "0.0.0.0", ".1", "1.", "100.64.0.1", "192.0.2.1",
    "224.0.0.1", "999.1.1.1", "2001:4860:4860::8888", "::", "::1", "2001:db8::1", "fe80::1%eth0",
    "fd12:3456::9", "::ffff:8.8.8.8", "::ffff:10.1.2.3", "64:ff9b::8.8.4.4", "2002:808:808::",
    "2002:a00:1::", "2001:0:5::", "3fff:1::2", "12:30:45", "de:ad:be:ef:00:01", "std::dec", "a::b",
    "2a00:1450:4001:80e:0:0:0:200e", "1:2:3:4:5:6:7:8", ":", "2600:1f18:", "dead:", "beef:", "2001:",
    "c0de", "+44 20 7946 0958", "+1 (202) 555-0100", "(202) 555-0143", "202-555-0143", "1.202.555.0143",
    "+49", "+4930123456", "01 23 45 67 89", "020 7946 0958", "(020) 7946 0958", "030/123456789", "0049",
    " 12", "-34", "(0)", "555", "4111 1111 1111 1111", "4111-1111-1111-1111", "378282246310005",
    "3782 822463 10005", "5500005555555559", "411", "6011000990139424", "30569309025904",
    "3056 930902 5904", "1111", "000000", "GB82WEST12345698765432", "GB82 WEST 1234 5698 7654 32",
    "DE89 3704 0044 0532 0130 00", "NO9386011117947", "GB82", "WEST", "DE89370400440532013001",
    "git@foo.com", "hg", "svn@", "git", "version ", "Release: ", "VERSION=\"", "version",
]  # fmt: skip

texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join),
    st.text(alphabet="a1.:@-f0 +", max_size=40),
    st.lists(st.one_of(st.sampled_from(PIECES), st.characters(exclude_categories=["Cs"])), max_size=12).map(
        "".join
    ),
)
text_lists = st.lists(texts, max_size=6)
