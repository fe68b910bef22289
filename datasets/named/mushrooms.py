"""Mushrooms: 21 attributes of hypothetical samples as 112 columns of 0 and 1.

One of the data sets of Wang, Gittens and Mahoney (2019).
"""

from datasets.decoders import letters
from datasets.spec import UCI, ArraySpec, DatasetSpec, Part, RawFile

X = "f6d2350a46d6941407e28672c2255b6617fc83639cab9a9b738fbb08b9ff4441"
Y = "37aea2e54f71c2db389e87d31cab74f28a6079ef09db7511d5fef3da9eb8fe59"
FILE = RawFile(
    "agaricus-lepiota.data",
    (f"{UCI}/mushroom/agaricus-lepiota.data",),
    "sha256:e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
)
# The letters that occur. stalk-root, which is missing in some rows, is left out.
ATTRIBUTES = (
    *(("cap-shape", "bcfksx"), ("cap-surface", "fgsy"), ("cap-color", "bcegnpruwy"), ("bruises", "ft")),
    *(("odor", "acflmnpsy"), ("gill-attachment", "af"), ("gill-spacing", "cw"), ("gill-size", "bn")),
    *(("gill-color", "beghknopruwy"), ("stalk-shape", "et"), ("stalk-root", "")),
    *(("stalk-surface-above-ring", "fksy"), ("stalk-surface-below-ring", "fksy")),
    *(("stalk-color-above-ring", "bcegnopwy"), ("stalk-color-below-ring", "bcegnopwy")),
    *(("veil-type", "p"), ("veil-color", "nowy"), ("ring-number", "not"), ("ring-type", "eflnp")),
    *(("spore-print-color", "bhknoruwy"), ("population", "acnsvy"), ("habitat", "dglmpuw")),
)

SPEC = DatasetSpec(
    name="mushrooms",
    title="Mushroom",
    summary=(
        "Gilled mushrooms, edible (e) or poisonous (p), by shape, colour, odour and place; a column for each "
        "letter of each attribute but stalk-root, which has missing values."
    ),
    parts=(
        Part(
            "all",
            ArraySpec("X", (8124, 112), "|u1", X),
            ArraySpec("y", (8124,), "|u1", Y),
            files=(FILE,),
            decode=letters("ep", ATTRIBUTES),
        ),
    ),
    feature_names=tuple(f"{name}={letter}" for name, known in ATTRIBUTES for letter in known),
    classes=("e", "p"),
    licence="CC BY 4.0",
    citation="J. Schlimmer, Mushroom, UCI Machine Learning Repository, 1987",
    source="https://doi.org/10.24432/C5959T",
)
