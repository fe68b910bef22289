"""Satimage: neighbourhoods of 3 x 3 pixels of a Landsat picture in four spectral bands."""

from datasets.decoders import csv
from datasets.spec import UCI, ArraySpec, DatasetSpec, Part, RawFile

TRAIN_X = "8f9bcf61d18f797b8b0590641e8773ad5cd9434f4efa5b44907874c4ed34a7ce"
TRAIN_Y = "ac8f88ef777a1076622fbdea2759e9b67ee3275e0e6a1b3a9c16fbaf2842bc91"
TEST_X = "d3ba088e1c64a7e6d449559fc3da3e3311b1794e5cf0df05a5d255f9f3fc88f7"
TEST_Y = "9195f7b19de5471f7a48d5a8de07ed961700ab7f21e520a99a263fc566c81881"
FOLDER = f"{UCI}/statlog/satimage"
TRAIN = RawFile("sat.trn", (f"{FOLDER}/sat.trn",), "md5:2c5ba2900da0183cab2c41fdb279fa5b", 525830)
TEST = RawFile("sat.tst", (f"{FOLDER}/sat.tst",), "md5:02c995991fecc864e809b2c4c42cd983", 236745)
DECODE = csv(label=36, delimiter=" ")

SPEC = DatasetSpec(
    name="satimage",
    title="Statlog (Landsat Satellite)",
    summary=(
        "Nine pixels in four bands, row by row; the class is the soil of the middle one: 1 red, 2 cotton, "
        "3 grey, 4 damp grey, 5 with stubble, 7 very damp grey. 6, a mixture, does not occur."
    ),
    parts=(
        Part(
            "train",
            ArraySpec("X", (4435, 36), "|u1", TRAIN_X),
            ArraySpec("y", (4435,), "|u1", TRAIN_Y),
            files=(TRAIN,),
            decode=DECODE,
        ),
        Part(
            "test",
            ArraySpec("X_test", (2000, 36), "|u1", TEST_X),
            ArraySpec("y_test", (2000,), "|u1", TEST_Y),
            files=(TEST,),
            decode=DECODE,
        ),
    ),
    feature_names=tuple(f"pixel{pixel}-band{band}" for pixel in range(1, 10) for band in range(1, 5)),
    classes=(1, 2, 3, 4, 5, 7),
    licence="CC BY 4.0",
    citation="A. Srinivasan, Statlog (Landsat Satellite), UCI Machine Learning Repository, 1993",
    source="https://doi.org/10.24432/C55887",
)
