"""The README keeps its word: its example runs as it stands, its links lead somewhere, its commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.pages import ROOT, code_blocks, dead_links, page, run_blocks

README = page("README.md")
PAGES = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "ALGORITHMS.md"]


def test_example_runs(tmp_path: Path) -> None:
    example, kernels = code_blocks(README, "python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 15, "the example is one screen"
    printed, _ = run_blocks([example, kernels], tmp_path)
    found = re.search(r"agreement with the truth: ([\d.]+)", printed)
    assert found, printed
    assert float(found[1]) > 0.95
    assert (tmp_path / "points.zarr").is_dir()


@pytest.mark.parametrize("name", [*PAGES, *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_links_lead_to_files(name: str) -> None:
    assert not dead_links(name)


def test_installs_name_extras_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    used = {extra for group in re.findall(r'-e "\.\[([\w,]+)\]"', README) for extra in group.split(",")}
    assert used == {"app", "test"}
    assert used <= set(project["optional-dependencies"])


def test_commands_exist() -> None:
    for module, job in re.findall(r"python -m (\w+) (\w+)", "".join(code_blocks(README, "bash"))):
        assert (ROOT / module / "__main__.py").exists(), f"no python -m {module}"
        done = subprocess.run(
            [sys.executable, "-m", module, job, "--help"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"python -m {module} {job} --help: {done.stderr}"
