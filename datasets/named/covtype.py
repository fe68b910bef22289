"""Covertype: what grows on 581012 patches of forest, from maps."""

from datasets.decoders import csv
from datasets.spec import UCI, ArraySpec, DatasetSpec, Part, RawFile

FILE = RawFile(
    "covtype.data.gz",
    (f"{UCI}/covtype/covtype.data.gz", "https://ndownloader.figshare.com/files/5976039"),
    "sha256:614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
    11240707,
)

SPEC = DatasetSpec(
    name="covtype",
    title="Covertype",
    summary=(
        "Ten measures of a patch of 30 x 30 metres, and 44 columns of 0 and 1 for its area and soil; the "
        "class is the kind of trees, 1 ... 7, very unequal. Standardize the columns first."
    ),
    parts=(
        Part(
            "all",
            ArraySpec("X", (581012, 54), "<i2"),
            ArraySpec("y", (581012,), "|u1"),
            files=(FILE,),
            decode=csv(label=54),
        ),
    ),
    feature_names=(
        *("Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology"),
        *("Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways"),
        *("Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points"),
        *(f"Wilderness_Area{area}" for area in range(1, 5)),
        *(f"Soil_Type{soil}" for soil in range(1, 41)),
    ),
    classes=tuple(range(1, 8)),
    licence="CC BY 4.0",
    citation="J. Blackard, Covertype, UCI Machine Learning Repository, 1998",
    source="https://doi.org/10.24432/C50K5N",
)
