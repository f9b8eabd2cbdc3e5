"""gates.toml: what is read, and that every mistake is named at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.errors import InvalidFileError, UserError
from evalkit.gating.config import AccuracyRule, SpeedRule, load_config

WHOLE = """
version = 1
[validity]
least_coverage = 0.99
greatest_truncation_rate = 0.02
required_checks = ["cold_prefix_cache"]
allow_differences = ["evalkit"]
[statistics]
level = 0.9
resamples = 500
seed = 3
interval = "percentile"
stratify = "data_source"
length_edges = [0, 256, 512]
[[accuracy]]
metric = "overall"
margin = 0.5
floor = 80
[[accuracy]]
metric = "table_teds"
relative_margin = 0.01
where = { language = "english" }
[[accuracy]]
metric = "text_edit"
margin = 0.01
by = "language"
[[speed]]
figure = "pps"
relative_margin = 0.05
noise = 0.02
[[speed]]
figure = "acceptance_rate"
floor = 0.5
better = "higher"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "gates.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_whole_file(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, WHOLE))
    assert config.validity.least_coverage == 0.99
    assert config.validity.required_checks == ("cold_prefix_cache",)
    assert config.statistics.interval == "percentile"
    assert config.statistics.length_edges == (0, 256, 512)
    assert config.accuracy == (
        AccuracyRule("overall", margin=0.5, floor=80),
        AccuracyRule("table_teds", relative_margin=0.01, where={"language": "english"}),
        AccuracyRule("text_edit", margin=0.01, by="language"),
    )
    assert config.speed[0] == SpeedRule("pps", relative_margin=0.05, noise=0.02)


MISTAKES = [
    ("no version", "", "version must be 1, found None"),
    ("other version", "version = 2", "version must be 1, found 2"),
    ("unknown table", "[acuracy]", "unknown key 'acuracy'. Did you mean 'accuracy'?"),
    ("unknown key", "[[accuracy]]\nmetric = 'a'\nmargin = 1\nmargn = 1", "unknown key 'margn'. Did you mean 'margin'?"),
    ("rule without metric", "[[accuracy]]\nmargin = 1", "[[accuracy]] 1: needs metric"),
    (
        "rule that asks for nothing",
        "[[accuracy]]\nmetric = 'a'",
        "[[accuracy]] 1 (a): asks for nothing; give one of margin",
    ),
    ("exact = false asks for nothing", "[[speed]]\nfigure = 'pps'\nexact = false", "asks for nothing"),
    ("both margins", "[[accuracy]]\nmetric = 'a'\nmargin = 1\nrelative_margin = 1", "not both"),
    (
        "by and where",
        "[[accuracy]]\nmetric = 'a'\nmargin = 1\nby = 'x'\nwhere = { y = 'z' }",
        "give by or where, not both",
    ),
    ("where of two", "[[speed]]\nfigure = 'a'\nfloor = 1\nwhere = { y = 'z', x = 'z' }", "where takes one attribute"),
    ("margin in text", "[[accuracy]]\nmetric = 'a'\nmargin = '1'", "margin must be a finite number, not '1'"),
    ("margin below 0", "[[accuracy]]\nmetric = 'a'\nmargin = -1", "margin must be 0 or more"),
    ("margin nan", "[[accuracy]]\nmetric = 'a'\nmargin = nan", "margin must be a finite number, not nan"),
    ("floor infinite", "[[accuracy]]\nmetric = 'a'\nfloor = inf", "floor must be a finite number"),
    ("share over 1", "[validity]\nleast_coverage = 99", "least_coverage must be a share from 0 to 1, not 99"),
    ("true as a number", "[validity]\nleast_coverage = true", "must be a finite number, not True"),
    ("number as a flag", "[[accuracy]]\nmetric = 'a'\nexact = 1", "exact must be true or false"),
    ("checks not a list", "[validity]\nrequired_checks = 'a'", "required_checks must be names"),
    ("where not a table", "[[accuracy]]\nmetric = 'a'\nmargin = 1\nwhere = 'x'", "where must be like"),
    ("table as rules", "[accuracy]\nmetric = 'a'", "accuracy must be rules, each written [[accuracy]]"),
    ("rules as a table", "[[validity]]\nleast_coverage = 1", "validity must be a table, written [validity]"),
    ("few resamples", "[statistics]\nresamples = 5", "resamples must be a whole number from 100 to 1000000"),
    ("interval of another kind", "[statistics]\ninterval = 'normal'", 'interval must be "bca" or "percentile"'),
    ("level of 95", "[statistics]\nlevel = 95", "level must lie between 0 and 1"),
    ("edges fall", "[statistics]\nlength_edges = [5, 3]", "length_edges must be rising whole numbers"),
    ("p99", "[[speed]]\nfigure = 'latency_p99_s'\nceiling = 1", "p99 of a benchmark run is too noisy"),
    ("direction", "[[speed]]\nfigure = 'pps'\nfloor = 1\nbetter = 'up'", 'better must be "higher" or "lower"'),
    ("name is no text", "[[speed]]\nfigure = 5\nfloor = 1", "figure must be a name, not 5"),
    ("no TOML", "version = ", "not valid TOML"),
]


@pytest.mark.parametrize(("text", "message"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    head = "" if "version" in text or not text else "version = 1\n"
    with pytest.raises(InvalidFileError) as raised:
        load_config(written(tmp_path, head + text))
    assert message in str(raised.value)
    assert len(raised.value.problems) == 1 or "needs" in message


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    text = "version = 1\n[validity]\nleast_coverage = 5\n[[accuracy]]\nmargin = 'a'\nfoo = 1\n[[speed]]\nfigure = 'x'"
    with pytest.raises(InvalidFileError) as raised:
        load_config(written(tmp_path, text))
    assert len(raised.value.problems) == 5


def test_thousands_of_rules_are_one_message(tmp_path: Path) -> None:
    rules = "[[accuracy]]\nmetric = 'a'\nwrong = 1\n" * 3000
    with pytest.raises(InvalidFileError) as raised:
        load_config(written(tmp_path, "version = 1\n" + rules))
    assert raised.value.problems == ("3000 rules, the limit is 500; `by` makes one for each value of an attribute",)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file; `evalkit gate init RUN` writes one"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(UserError, match="is a folder"):
        load_config(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"version = 1 # \xe9")
    with pytest.raises(InvalidFileError, match="not UTF-8"):
        load_config(tmp_path / "latin.toml")
