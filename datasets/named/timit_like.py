"""Made speech: data of TIMIT's shape, whose recordings are not free.

Ma and Belkin (2019) use TIMIT itself.
"""

from datasets.spec import ArraySpec, MadeSpec, Part

TRAIN, TEST, TEST_BEGINS = 1_100_000, 60_000, 1_200_000

SPEC = MadeSpec(
    name="timit_like",
    title="Made speech of TIMIT's shape",
    summary=(
        "Eleven frames of 40 filterbank-like values around each frame of one made recording; 144 states, "
        "some more common, which overlap: trained on 40000 rows a Laplacian kernel errs on 39 %, a linear "
        "rule on 46 %. Neighbouring rows share ten frames."
    ),
    function="daskkernels.block.speech:speech_rows",
    parts=(
        Part("train", ArraySpec("X", (TRAIN, 440), "<f4"), ArraySpec("y", (TRAIN,), "<i4")),
        Part(
            "test",
            ArraySpec("X_test", (TEST, 440), "<f4"),
            ArraySpec("y_test", (TEST,), "<i4"),
            first_row=TEST_BEGINS,
        ),
    ),
    feature_names=tuple(f"frame{frame:+d}-band{band}" for frame in range(-5, 6) for band in range(1, 41)),
    classes=tuple(range(144)),
    licence="BSD-3-Clause, made by daskkernels",
    citation="after TIMIT as used by S. Ma and M. Belkin, Kernel machines that adapt to GPUs, MLSys 2019",
    source="daskkernels/block/speech.py",
)
