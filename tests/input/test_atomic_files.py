"""Files are written completely or not at all."""

import gzip
import os
import stat

import pytest

import skgraded as sg
from skgraded._input.atomic_files import write_text, write_whole


def test_write_text_replaces_the_whole_file_or_nothing(tmp_path):
    path = tmp_path / "page.html"
    for text in ("first", "second\n", "größer"):
        write_text(text, path)
        assert path.read_bytes() == text.encode()
        assert os.listdir(tmp_path) == ["page.html"]
    # An error leaves the file unchanged.
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text("\udc80", path)
    with pytest.raises(RuntimeError), write_whole(path) as beside:
        beside.write_text("half a pa")
        raise RuntimeError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["page.html"]


def test_patterns_of_files_do_not_match_the_temporary_file(tmp_path):
    with write_whole(tmp_path / "day.json") as temporary:
        assert temporary.name.startswith(".") and not list(tmp_path.glob("*.json"))


def test_files_keep_their_mode_and_new_files_respect_the_umask(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o640)
    write_text("new", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    (tmp_path / "plain").write_text("")
    write_text("", tmp_path / "made")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_target_of_a_link_is_replaced(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_text("new", tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "new"


def test_reports_replace_files(tmp_path):
    ev = sg.evaluate([1, 0], [2, 1], group=[2], measures="rr")
    for method in (ev.to_json, ev.to_csv, ev.to_html):
        path, also = tmp_path / method.__name__, tmp_path / f"{method.__name__} also"
        path.write_text("old")
        os.link(path, also)
        method(path)
        assert path.read_text() == method()
        assert also.read_text() == "old"  # the file was replaced, not changed
    ev.to_csv(tmp_path / "values.csv.gz")
    assert gzip.decompress((tmp_path / "values.csv.gz").read_bytes()).decode() == ev.to_csv()
