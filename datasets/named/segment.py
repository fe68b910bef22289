"""Image segmentation: small regions of outdoor photographs, columns of very different scale; shipped."""

from datasets.spec import ArraySpec, DatasetSpec, Part

X = "0b1363cd37a61bc832350980217afd2764e674749a7ecf6b3a577fcef8e5b1d4"
Y = "220c37c25e682fab9d28d97c97d1043b7b0b00db22aba622023f275829d4f40b"

SPEC = DatasetSpec(
    name="segment",
    title="Image Segmentation",
    summary=(
        "Regions of 3 x 3 pixels from seven outdoor photographs, described by 19 numbers; the class is what "
        "the region shows. Columns differ in scale by a thousand: standardize them first."
    ),
    shipped="segment.npz",
    parts=(Part("all", ArraySpec("X", (2310, 19), "<f4", X), ArraySpec("y", (2310,), "|u1", Y)),),
    feature_names=(
        *("region-centroid-col", "region-centroid-row", "region-pixel-count"),
        *("short-line-density-5", "short-line-density-2", "vedge-mean", "vedge-sd", "hedge-mean", "hedge-sd"),
        *("intensity-mean", "rawred-mean", "rawblue-mean", "rawgreen-mean"),
        *("exred-mean", "exblue-mean", "exgreen-mean", "value-mean", "saturation-mean", "hue-mean"),
    ),
    classes=("brickface", "sky", "foliage", "cement", "window", "path", "grass"),
    licence="CC BY 4.0",
    citation="Image Segmentation, UCI Machine Learning Repository, 1990",
    source="https://doi.org/10.24432/C5GP4N",
)
