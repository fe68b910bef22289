"""CIFAR-10: photographs of 32 x 32 pixels in colour. A data set of Ma and Belkin (2019)."""

from datasets.decoders import cifar10
from datasets.spec import ArraySpec, DatasetSpec, Part, RawFile

FILE = RawFile(
    "cifar-10-binary.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
    "md5:c32a1d4ab5d03f1284b67883e8d87530",
    170052171,
)
TRAIN = tuple(f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6))
TEST = ("cifar-10-batches-bin/test_batch.bin",)

SPEC = DatasetSpec(
    name="cifar10",
    title="CIFAR-10",
    summary=(
        "Labelled photographs, red, green and blue 0 ... 255: 0 airplane, 1 automobile, 2 bird, 3 cat, "
        "4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck."
    ),
    parts=(
        Part(
            "train",
            ArraySpec("X", (50000, 3072), "|u1"),
            ArraySpec("y", (50000,), "|u1"),
            files=(FILE,),
            decode=cifar10(*TRAIN),
        ),
        Part(
            "test",
            ArraySpec("X_test", (10000, 3072), "|u1"),
            ArraySpec("y_test", (10000,), "|u1"),
            files=(FILE,),
            decode=cifar10(*TEST),
        ),
    ),
    feature_shape=(32, 32, 3),
    classes=tuple(range(10)),
    licence="none stated; its authors ask for the citation",
    citation="A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, technical report, 2009",
    source="https://www.cs.toronto.edu/~kriz/cifar.html",
)
