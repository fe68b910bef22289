"""The README keeps its word: its example runs as it stands, its links lead somewhere, its commands exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def code_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_example_runs(tmp_path: Path) -> None:
    example, kernels = code_blocks("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 15, "the example is one screen"
    example += kernels
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "example.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"agreement with the truth: ([\d.]+)", done.stdout)
    assert found, done.stdout
    assert float(found[1]) > 0.95
    assert (tmp_path / "points.zarr").is_dir()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "ALGORITHMS.md"])
def test_links_lead_to_files(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    missing = [target for target in targets if target and not (ROOT / target).exists()]
    assert not missing, f"{page} links to {missing}"


def test_installs_name_extras_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    used = {extra for group in re.findall(r'-e "\.\[([\w,]+)\]"', README) for extra in group.split(",")}
    assert used == {"app", "test"}
    assert used <= set(project["optional-dependencies"])


def test_commands_exist() -> None:
    for module, job in re.findall(r"python -m (\w+) (\w+)", "".join(code_blocks("bash"))):
        assert (ROOT / module / "__main__.py").exists(), f"no python -m {module}"
        done = subprocess.run(
            [sys.executable, "-m", module, job, "--help"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"python -m {module} {job} --help: {done.stderr}"
