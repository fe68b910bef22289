"""HIGGS: simulated collisions, with or without a Higgs boson."""

from datasets.decoders import csv
from datasets.spec import UCI, ArraySpec, DatasetSpec, Part, RawFile

FILE = RawFile(
    "HIGGS.csv.gz",
    (f"{UCI}/00280/HIGGS.csv.gz",),
    "sha256:ea302c18164d4e3d916a1e2e83a9a8d07069fa6ebc7771e4c0540d54e593b698",
    2816407858,
)
SPLIT, ROWS = 10_500_000, 11_000_000
JETS = tuple(f"jet {jet} {what}" for jet in range(1, 5) for what in ("pt", "eta", "phi", "b-tag"))

SPEC = DatasetSpec(
    name="higgs",
    title="HIGGS",
    summary=(
        "21 measured and seven derived properties of simulated collisions, as 32-bit floats; 1 is signal, "
        "0 is background. The last 500000 rows are the test part."
    ),
    parts=(
        Part(
            "train",
            ArraySpec("X", (SPLIT, 28), "<f4"),
            ArraySpec("y", (SPLIT,), "|u1"),
            files=(FILE,),
            decode=csv(label=0, stop=SPLIT),
        ),
        Part(
            "test",
            ArraySpec("X_test", (ROWS - SPLIT, 28), "<f4"),
            ArraySpec("y_test", (ROWS - SPLIT,), "|u1"),
            files=(FILE,),
            decode=csv(label=0, start=SPLIT),
        ),
    ),
    feature_names=(
        *("lepton pT", "lepton eta", "lepton phi", "missing energy magnitude", "missing energy phi"),
        *JETS,
        *("m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb", "m_wbb", "m_wwbb"),
    ),
    classes=(0, 1),
    licence="CC BY 4.0",
    citation="D. Whiteson, HIGGS, UCI Machine Learning Repository, 2014",
    source="https://doi.org/10.24432/C5V312",
)
