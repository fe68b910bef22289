"""SUSY: simulated collisions, with or without supersymmetric particles.

A data set of Ma and Belkin (2019).
"""

from datasets.decoders import csv
from datasets.spec import UCI, ArraySpec, DatasetSpec, Part, RawFile

FILE = RawFile(
    "SUSY.csv.gz",
    (f"{UCI}/00279/SUSY.csv.gz",),
    "sha256:be56cb5598da8ece4b13912230ee713bab8b3431a7d118e0054ffdf3a2f25664",
)
SPLIT, ROWS = 4_500_000, 5_000_000

SPEC = DatasetSpec(
    name="susy",
    title="SUSY",
    summary=(
        "Eight measured and ten derived properties of simulated collisions, as 32-bit floats; 1 is signal, "
        "0 is background. The last 500000 rows are the test part."
    ),
    parts=(
        Part(
            "train",
            ArraySpec("X", (SPLIT, 18), "<f4"),
            ArraySpec("y", (SPLIT,), "|u1"),
            files=(FILE,),
            decode=csv(label=0, stop=SPLIT),
        ),
        Part(
            "test",
            ArraySpec("X_test", (ROWS - SPLIT, 18), "<f4"),
            ArraySpec("y_test", (ROWS - SPLIT,), "|u1"),
            files=(FILE,),
            decode=csv(label=0, start=SPLIT),
        ),
    ),
    feature_names=(
        *("lepton 1 pT", "lepton 1 eta", "lepton 1 phi", "lepton 2 pT", "lepton 2 eta", "lepton 2 phi"),
        *(
            "missing energy magnitude",
            "missing energy phi",
            "MET_rel",
            "axial MET",
            "M_R",
            "M_TR_2",
            "R",
            "MT2",
        ),
        *("S_R", "M_Delta_R", "dPhi_r_b", "cos(theta_r1)"),
    ),
    classes=(0, 1),
    licence="CC BY 4.0",
    citation="D. Whiteson, SUSY, UCI Machine Learning Repository, 2014",
    source="https://doi.org/10.24432/C54606",
)
