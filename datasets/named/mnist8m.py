"""MNIST8M: the digits of MNIST and 134 deformations of each, made here or read from the published file.

A data set of Wang, Gittens and Mahoney (2019). What is made here has the published shape and its own pixels.
"""

from datasets.decoders import libsvm
from datasets.spec import ArraySpec, MadeSpec, Part, RawFile

ROWS = 8_100_000
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"

SPEC = MadeSpec(
    name="mnist8m",
    title="MNIST8M, deformed handwritten digits",
    summary=(
        "8.1 million images of 28 x 28 grey values: row i shows digit i mod 60000 of MNIST, the first 60000 "
        "rows as it is, the others turned, stretched, sheared, shifted and bent a little. Made from MNIST in "
        "minutes, or read from the published file: --raw mnist8m.bz2, whose deformations are other ones."
    ),
    function="daskkernels.block.digits:digit_rows",
    originals="mnist",
    parts=(
        Part(
            "train",
            ArraySpec("X", (ROWS, 784), "|u1"),
            ArraySpec("y", (ROWS,), "<i4"),
            files=(RawFile("mnist8m.bz2", (f"{LIBSVM}/mnist8m.bz2",)),),
            decode=libsvm(784, "u1"),
        ),
    ),
    feature_shape=(28, 28),
    classes=tuple(range(10)),
    licence="CC BY-SA 3.0, as MNIST",
    citation=(
        "after G. Loosli, S. Canu and L. Bottou, Training invariant support vector machines using selective "
        "sampling, Large Scale Kernel Machines, MIT Press, 2007"
    ),
    source="daskkernels/block/digits.py",
)
