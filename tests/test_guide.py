"""docs/guide.md keeps its word: its blocks run in order and print what stands under them."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

import daskkernels as dk
from tests.pages import code_blocks, page, run_blocks, shown_outputs

GUIDE = page("docs/guide.md")
BLOCKS = shown_outputs(GUIDE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return run_blocks([code for code, _ in BLOCKS], tmp_path_factory.mktemp("guide"))


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_prints_what_is_shown(number: int, printed: list[str]) -> None:
    code, shown = BLOCKS[number]
    assert ("print(" in code) == (shown is not None), f"a reader does not see what this prints:\n{code}"
    same = doctest.OutputChecker().check_output(shown or "", printed[number], FLAGS)
    assert same, f"{code}\nprints\n{printed[number]}\nnot\n{shown}"


def test_every_block_is_run_or_says_that_it_is_not() -> None:
    apart = code_blocks(GUIDE, "python no-run")
    assert len(code_blocks(GUIDE, "python")) == len(BLOCKS)
    assert GUIDE.count("```python") == len(BLOCKS) + len(apart)
    for block in apart:
        names = {
            node.attr
            for node in ast.walk(ast.parse(block))
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dk"
        }
        assert names <= set(dk.__all__)


def test_ten_steps() -> None:
    assert re.findall(r"^### (\d+)\. ", GUIDE, flags=re.MULTILINE) == [str(i) for i in range(1, 11)]


def test_links_within_the_page_lead_to_headings() -> None:
    headings = re.findall(r"^#+ (.*)$", GUIDE, flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", GUIDE)) <= anchors


def test_the_reference_is_where_the_guide_says() -> None:
    assert (Path(__file__).parents[1] / "docs" / "build_api.py").exists()
