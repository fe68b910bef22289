"""MNIST: handwritten digits as images of 28 x 28 grey values, in the files of its authors.

A data set of both papers: Wang, Gittens and Mahoney (2019), Ma and Belkin (2019).
"""

from datasets.decoders import idx
from datasets.spec import ArraySpec, DatasetSpec, Part, RawFile

TRAIN_X = "7c4d6faa0fdbd8587405ced2f3c4c89b90d9a067c6ad6bd0bd09823241b4417e"
TRAIN_Y = "e6a049a9876d2010dddfc2322bb8cad03f5934de9a0b5012c7251eca5b5a7201"
TEST_X = "8f13d1c17a8bad80594cfb51a30dc6a7b3d9f7beb121815fb2b26af99839029e"
TEST_Y = "6a90c4ebf8538b9b76438e5dddb0f5afc42d636e8e259d894485f9314cdad47d"
MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist", "http://yann.lecun.com/exdb/mnist")


def _file(name: str, md5: str, size: int) -> RawFile:
    return RawFile(name, tuple(f"{mirror}/{name}" for mirror in MIRRORS), f"md5:{md5}", size)


SPEC = DatasetSpec(
    name="mnist",
    title="The MNIST database of handwritten digits",
    summary="Digits written by employees and students, size-normalized and centered, grey values 0 ... 255.",
    parts=(
        Part(
            "train",
            ArraySpec("X", (60000, 784), "|u1", TRAIN_X),
            ArraySpec("y", (60000,), "|u1", TRAIN_Y),
            files=(
                _file("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 9912422),
                _file("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 28881),
            ),
            decode=idx,
        ),
        Part(
            "test",
            ArraySpec("X_test", (10000, 784), "|u1", TEST_X),
            ArraySpec("y_test", (10000,), "|u1", TEST_Y),
            files=(
                _file("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", 1648877),
                _file("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 4542),
            ),
            decode=idx,
        ),
    ),
    feature_shape=(28, 28),
    classes=tuple(range(10)),
    licence="CC BY-SA 3.0",
    citation=(
        "Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Gradient-based learning applied to document "
        "recognition, Proceedings of the IEEE 86, 1998"
    ),
    source="http://yann.lecun.com/exdb/mnist/",
)
