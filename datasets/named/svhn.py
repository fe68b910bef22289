"""SVHN: digits of house numbers as images of 32 x 32 pixels in colour. A data set of Ma and Belkin (2019)."""

from datasets.decoders import mat
from datasets.spec import ArraySpec, DatasetSpec, Part, RawFile

FOLDER = "http://ufldl.stanford.edu/housenumbers"


def _part(name: str, n_rows: int, md5: str, size: int) -> Part:
    suffix = "" if name == "train" else f"_{name}"
    file = RawFile(f"{name}_32x32.mat", (f"{FOLDER}/{name}_32x32.mat",), f"md5:{md5}", size)
    X, y = ArraySpec(f"X{suffix}", (n_rows, 3072), "|u1"), ArraySpec(f"y{suffix}", (n_rows,), "|u1")
    return Part(name, X, y, files=(file,), decode=mat)


SPEC = DatasetSpec(
    name="svhn",
    title="The Street View House Numbers",
    summary=(
        "Cropped digits, red, green and blue 0 ... 255, with the digits beside them in the picture; class 10 "
        "is the digit 0. The part `extra` is larger and easier."
    ),
    parts=(
        _part("train", 73257, "e26dedcc434d2e4c54c9b2d4a06d8373", 182040794),
        _part("test", 26032, "eb5a983be6a315427106f1b164d9cef3", 64275384),
        _part("extra", 531131, "a93ce644f1a588dc4d68dda5feec44a7", 1329278602),
    ),
    feature_shape=(32, 32, 3),
    classes=tuple(range(1, 11)),
    licence="for non-commercial use only",
    citation=(
        "Y. Netzer, T. Wang, A. Coates, A. Bissacco, B. Wu and A. Y. Ng, Reading Digits in Natural Images "
        "with Unsupervised Feature Learning, NIPS Workshop, 2011"
    ),
    source="http://ufldl.stanford.edu/housenumbers/",
)
