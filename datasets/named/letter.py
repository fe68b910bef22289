"""Letter recognition: capital letters in 20 fonts, distorted, as 16 whole numbers."""

from string import ascii_uppercase

from datasets.decoders import csv
from datasets.spec import UCI, ArraySpec, DatasetSpec, Part, RawFile

TRAIN_X = "18f1882f22d48d537841dbd1c9fa47e7f1aac481099c0deafb8a3c01f48d0885"
TRAIN_Y = "2d2206263657d702a46b8782e8134aa4664f62ed1308c046ced24b932424d848"
TEST_X = "30e0d27f837fe1e91fabaa8c392dfb49b61b96313313df7bd55d1af711298414"
TEST_Y = "c7133287f6a469085bda83bb8c01bd587d1b416ee359b752992358726b315a0f"
FILE = RawFile(
    "letter-recognition.data",
    (f"{UCI}/letter-recognition/letter-recognition.data",),
    "sha256:2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
    712565,
)
CLASSES = tuple(ascii_uppercase)

SPEC = DatasetSpec(
    name="letter",
    title="Letter Recognition",
    summary=(
        "Moments and edge counts of black-and-white images of capital letters, each scaled to 0 ... 15. "
        "Its authors train on the first 16000 rows and test on the last 4000."
    ),
    parts=(
        Part(
            "train",
            ArraySpec("X", (16000, 16), "|u1", TRAIN_X),
            ArraySpec("y", (16000,), "|u1", TRAIN_Y),
            files=(FILE,),
            decode=csv(label=0, stop=16000, classes=CLASSES),
        ),
        Part(
            "test",
            ArraySpec("X_test", (4000, 16), "|u1", TEST_X),
            ArraySpec("y_test", (4000,), "|u1", TEST_Y),
            files=(FILE,),
            decode=csv(label=0, start=16000, classes=CLASSES),
        ),
    ),
    feature_names=(
        *("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar", "y2bar", "xybar"),
        *("x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
    ),
    classes=CLASSES,
    licence="CC BY 4.0",
    citation="D. Slate, Letter Recognition, UCI Machine Learning Repository, 1991",
    source="https://doi.org/10.24432/C5ZP40",
)
