"""CIFAR-10 in grey: the photographs of `cifar10`, one luminance for each pixel."""

import dataclasses

from datasets.decoders import cifar10
from datasets.named.cifar10 import FILE, TEST, TRAIN
from datasets.named.cifar10 import SPEC as COLOUR
from datasets.spec import ArraySpec, Part

SPEC = dataclasses.replace(
    COLOUR,
    name="cifar10_grey",
    title="CIFAR-10 in grey",
    summary=(
        "The photographs of cifar10 as luminance 0 ... 255 after ITU-R BT.601, "
        "(19595 R + 38470 G + 7471 B + 32768) // 65536. The classes are those of cifar10."
    ),
    parts=(
        Part(
            "train",
            ArraySpec("X", (50000, 1024), "|u1"),
            ArraySpec("y", (50000,), "|u1"),
            files=(FILE,),
            decode=cifar10(*TRAIN, grey=True),
        ),
        Part(
            "test",
            ArraySpec("X_test", (10000, 1024), "|u1"),
            ArraySpec("y_test", (10000,), "|u1"),
            files=(FILE,),
            decode=cifar10(*TEST, grey=True),
        ),
    ),
    feature_shape=(32, 32),
)
