"""After the tests of Dolma's taggers (allenai/dolma, tests/python: test_gopher.py at add3a34, test_c4.py at
ad71e62, test_code.py at 4c1e9a0, test_urls.py at 2962f01), on texts of our own; values by hand.

A tagger gives scores, and a mixer drops by them. Here they are in the checks of a step, under the reasons in
SCORES.

No counterpart here:
- character_count, word_count as a score of its own, test_length.py: a share of them is what limits look at;
- CodeSecretsTagger, CodeCopyrightTagger, code_to_comment_ratio, code_to_text_ratio_html: no step looks for
  these; num_github_stars: a carried field for `where`;
- test_repetitions.py: runs of one letter or phrase in a row, no statistic of Gopher;
- URL rules of ad blockers (test_urls.py, TestUrlBlocker): lists of sites are the only kind here;
- a bad word beside a comma: Dolma splits at white space and misses it; here as in datatrove it counts;
- a listed page: Dolma compares whole URLs, here it covers what is below it;
- test_deduper.py, test_mixer.py and tests/config: Bloom filters and spans, no steps; test_warc.py: WARC is
  read, not a step; test_language.py and test_quality.py: as those of DCLM.
"""

from __future__ import annotations

from typing import Any

import pytest

from dataprep.steps import STEPS
from tests.dataprep.steps.goldens import dropped, lines_left, params_of, result

SCORES = {
    "fraction_of_characters_in_most_common_2grams": ("gopher_repetition", "top_2_gram"),
    "fraction_of_characters_in_most_common_3grams": ("gopher_repetition", "top_3_gram"),
    "fraction_of_characters_in_most_common_4grams": ("gopher_repetition", "top_4_gram"),
    **{
        f"fraction_of_characters_in_duplicate_{n}grams": ("gopher_repetition", f"duplicated_{n}_n_grams")
        for n in range(5, 11)
    },
    "fraction_of_duplicate_lines": ("gopher_repetition", "dup_line_frac"),
    "fraction_of_characters_in_duplicate_lines": ("gopher_repetition", "dup_line_char_frac"),
    "word_count": ("gopher_quality", "gopher_short_doc"),
    "median_word_length": ("gopher_quality", "gopher_below_avg_threshold"),
    "symbol_to_word_ratio": ("gopher_quality", "gopher_too_many_symbols"),
    "fraction_of_words_with_alpha_character": ("gopher_quality", "gopher_below_alpha_threshold"),
    "required_word_count": ("gopher_quality", "gopher_enough_stop_words"),
    "fraction_of_lines_starting_with_bullet_point": ("gopher_quality", "gopher_too_many_bullets"),
    "fraction_of_lines_ending_with_ellipsis": ("gopher_quality", "gopher_too_many_end_ellipsis"),
}
NOTHING_ELSE = {
    "symbol_to_word_ratio": 0,
    "fraction_of_words_with_alpha_character": 1,
    "required_word_count": 0,
    "fraction_of_lines_starting_with_bullet_point": 0,
    "fraction_of_lines_ending_with_ellipsis": 0,
    "fraction_of_duplicate_lines": 0,
    "fraction_of_characters_in_duplicate_lines": 0,
}
MANY_LINES = "Here is one line. \n  \n Here is another line.\n\n  Here is a third line."


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (  # 4, 2, 2 and 6 characters
            "Here we go again.",
            {
                "fraction_of_characters_in_most_common_2grams": 6 / 14,
                "fraction_of_characters_in_most_common_3grams": 8 / 14,
                "fraction_of_characters_in_most_common_4grams": 1,
                "word_count": 4,
                "median_word_length": 3,
                **NOTHING_ELSE,
            },
        ),
        (  # "Here is" three times, "line. Here is" twice, no four words twice
            MANY_LINES,
            {
                "fraction_of_characters_in_most_common_2grams": 18 / 49,
                "fraction_of_characters_in_most_common_3grams": 22 / 49,
                "fraction_of_characters_in_most_common_4grams": 14 / 49,
                **{f"fraction_of_characters_in_duplicate_{n}grams": 0 for n in range(5, 11)},
                "word_count": 13,
                "median_word_length": 4,
                **NOTHING_ELSE,
            },
        ),
        ("T h e n \n    \n\n\n    aplainword ???", {"word_count": 6}),
        ("The.and.that", {"required_word_count": 0}),
        ("The and that", {"required_word_count": 2}),
        # Every copy counts; so also in the port of DCLM's filters, where a test wants 4 of 6.
        ("a\nb\na\nb\nc\nd", {"fraction_of_duplicate_lines": 4 / 6}),
    ],
)
def test_gopher_tagger(text: str, wanted: dict[str, float]) -> None:
    for score, value in wanted.items():
        name, reason = SCORES[score]
        checks = result(name, text, STEPS[name].params(definition="dolma"))[1]
        assert checks[reason].values[0] == pytest.approx(value, abs=1e-12), score


C4_SCORES = {
    "has_curly_brace": ("filter_curly_bracket", "curly_bracket"),
    "has_lorem_ipsum": ("filter_lorem_ipsum", "lorem_ipsum"),
}


@pytest.mark.parametrize(
    ("score", "text", "is_tagged"),
    [
        ("has_curly_brace", "Here is a test.", False),
        ("has_curly_brace", "Here is a test {", True),
        ("has_lorem_ipsum", "Here is a test.", False),
        ("has_lorem_ipsum", "Here is a Lorem ipsum test\nand one more.", True),
    ],
)
def test_c4_tagger_of_documents(score: str, text: str, is_tagged: bool) -> None:
    rule, reason = C4_SCORES[score]
    assert dropped("c4", text, params_of("c4", **{rule: True})) == ([reason] if is_tagged else [])


@pytest.mark.parametrize(
    ("rule", "text", "left"),
    [
        ({"filter_javascript": True}, "Here is a test.", ["Here is a test."]),
        ({"filter_javascript": True}, "Here is a test of JavaScript", []),
        (
            {"filter_no_terminal_punct": True},
            "Here is a test.\nIt goes on;\nA space behind! \nThis one is fine.\nThis one is not\n",
            ["Here is a test.", "A space behind!", "This one is fine."],
        ),
        (
            {"min_words_per_line": 3},
            "Brief!\nSo brief.\nThree words now!\nand here are four.",
            ["Three words now!", "and here are four."],
        ),
    ],
)
def test_c4_tagger_of_lines(rule: dict[str, Any], text: str, left: list[str]) -> None:
    """Dolma marks the other lines, and its mixer takes them out."""
    assert lines_left("c4", text, params_of("c4", **rule)) == left


@pytest.mark.parametrize(
    ("text", "is_tagged"),
    [
        ("No word of the list is in here.", False),
        ("A word such as plugh is.", True),
        ("They say hollow voice and mean a bad word of two.", True),
        ("A hollow and a voice are none.", False),
    ],
)
def test_naughty_words(text: str, is_tagged: bool) -> None:
    params = params_of("c4_bad_words", words=["plugh", "hollow voice"])
    assert dropped("c4_bad_words", text, params) == (["bad_word"] if is_tagged else [])


def test_red_pajama_and_star_coder_taggers() -> None:
    text = "def greet():\n    # says good day\n    print('Good day')\n"
    lines = text.splitlines()
    checks = result("code_quality", text, STEPS["code_quality"].params())[1]
    assert checks["long_line"].values[0] == max(map(len, lines))
    assert checks["long_lines"].values[0] == sum(map(len, lines)) / len(lines)
    assert checks["few_alphanumerics"].values[0] == sum(map(str.isalnum, text)) / len(text)
    params = params_of("code_quality", drop_xml=True)
    quoted = 'So begins a file of XML:\n\n```\n<?xml version="1.0" encoding="UTF-8"?>\n```\n'
    assert dropped("code_quality", quoted, params) == ["xml"]  # within the first 100 characters
    assert dropped("code_quality", text, params) == dropped("code_quality", "<!DOCTYPE html>", params) == []


LINKS = ["http://one.example/foo/bar", "https://two.example/foo"]
DOMAINS = "one.example\n0.0.0.0 two.example\n::1 three.example\n"


@pytest.mark.parametrize(
    ("url", "is_listed"),
    [
        ("http://one.example/foo/bar", True),
        ("https://one.example/foo/bar", True),
        ("one.example/foo/bar/", True),
        ("http://one.example/foo/", False),
        ("s3://two.example/foo", True),
        ("https://two.example/fool", False),
    ],
)
def test_links_tagger(url: str, is_listed: bool) -> None:
    params = STEPS["url_blocklist"].params(sites=LINKS)  # type: ignore[call-arg]
    assert dropped("url_blocklist", "", params, url=url) == (["url_page"] if is_listed else [])


@pytest.mark.parametrize(
    ("url", "is_listed"),
    [
        ("http://one.example", True),
        ("ONE.EXAMPLE", True),
        ("https://two.example", True),
        ("three.example", True),
        ("http://four.example", False),
        ("http://one.example/foo", True),
    ],
)
def test_domains_tagger(url: str, is_listed: bool, tmp_path: Any) -> None:
    (tmp_path / "domains").write_text(DOMAINS)
    params = STEPS["url_blocklist"].params(site_lists=[str(tmp_path / "domains")])  # type: ignore[call-arg]
    assert dropped("url_blocklist", "", params, url=url) == (["url_domain"] if is_listed else [])
