"""PenDigits: handwritten digits as eight pen positions, small enough to be shipped with the checkout.

One of the data sets of Wang, Gittens and Mahoney (2019), who use the training part.
"""

from datasets.spec import ArraySpec, DatasetSpec, Part

TRAIN_X = "794a01135c4fa2163b9b1b7bdd3f08527e30a74540b8f80eb969372b8a6cfd1c"
TRAIN_Y = "d9b2870ac63666532c1bffad32fd73d6cdef003ecc6781e8a2741126bdc600d5"
TEST_X = "76a8e9262a61ac6ac657303409aa751431a2ded5749eff0335b8124e52e5931b"
TEST_Y = "b377d95a003e2890d09b78a7c37d97a06ae8d9ffedcd49a7150682ff1e448e43"

SPEC = DatasetSpec(
    name="pendigits",
    title="Pen-Based Recognition of Handwritten Digits",
    summary="Digits written on a tablet, resampled to 8 points (x, y), each 0 ... 100; 10 classes.",
    shipped="pendigits.npz",
    parts=(
        Part("train", ArraySpec("X", (7494, 16), "|u1", TRAIN_X), ArraySpec("y", (7494,), "|u1", TRAIN_Y)),
        Part(
            "test",
            ArraySpec("X_test", (3498, 16), "|u1", TEST_X),
            ArraySpec("y_test", (3498,), "|u1", TEST_Y),
        ),
    ),
    feature_names=tuple(f"{axis}{point}" for point in range(1, 9) for axis in "xy"),
    classes=tuple(range(10)),
    licence="CC BY 4.0",
    citation=(
        "E. Alpaydin and F. Alimoglu, Pen-Based Recognition of Handwritten Digits, "
        "UCI Machine Learning Repository, 1996"
    ),
    source="https://doi.org/10.24432/C5MG6K",
)
