"""The values of the papers, read off their plots by eye (+-1 in the last digit) or from their tables."""

from __future__ import annotations

MULTIPLES = (3, 9, 27, 81)  # c / k

# Wang, Gittens, Mahoney, JMLR 20(12), 2019, Figure 4: median NMI by (data, method, s), c = 3 k ... 81 k.
FIGURE4: dict[tuple[str, str, str], tuple[float, ...]] = {
    ("mnist", "nystrom", "k"): (0.42, 0.48, 0.495, 0.49),
    ("mnist", "random", "k"): (0.26, 0.37, 0.44, 0.47),
    ("mnist", "nystrom", "sqrt(kc)"): (0.42, 0.49, 0.51, 0.51),
    ("mnist", "random", "sqrt(kc)"): (0.27, 0.40, 0.475, 0.50),
    ("mnist", "two-step", "-"): (0.072, 0.012, 0.017, 0.032),
    ("mushrooms", "nystrom", "k"): (0.305, 0.56, 0.57, 0.57),
    ("mushrooms", "random", "k"): (0.075, 0.16, 0.275, 0.45),
    ("mushrooms", "nystrom", "sqrt(kc)"): (0.29, 0.57, 0.58, 0.58),
    ("mushrooms", "random", "sqrt(kc)"): (0.08, 0.20, 0.305, 0.545),
    ("mushrooms", "two-step", "-"): (0.123, 0.224, 0.263, 0.494),
    ("pendigits", "nystrom", "k"): (0.678, 0.693, 0.695, 0.695),
    ("pendigits", "random", "k"): (0.631, 0.667, 0.679, 0.681),
    ("pendigits", "nystrom", "sqrt(kc)"): (0.683, 0.687, 0.685, 0.699),
    ("pendigits", "random", "sqrt(kc)"): (0.642, 0.688, 0.698, 0.696),
    ("pendigits", "two-step", "-"): (0.399, 0.413, 0.422, 0.421),
}

# The same, Figure 5: median objective, eq. 6, by (data, method).
FIGURE5: dict[tuple[str, str], tuple[float, ...]] = {
    ("mushrooms", "nystrom"): (86.5, 80.8, 80.6, 80.6),
    ("mushrooms", "random"): (106.0, 97.5, 89.0, 83.7),
    ("mushrooms", "two-step"): (101.5, 92.8, 89.5, 85.3),
    ("pendigits", "nystrom"): (74.0, 72.5, 72.5, 72.5),
    ("pendigits", "random"): (87.8, 76.7, 73.6, 72.8),
    ("pendigits", "two-step"): (210.5, 198.2, 193.5, 193.4),
}

# The same, Figure 3, factor 1, s = k: NMI at the smallest and the largest c (5 s and 50 s) by (data, method).
FIGURE3: dict[tuple[str, str], tuple[float, float]] = {
    ("mnist", "kernel k-means"): (0.455, 0.495),
    ("mnist", "spectral"): (0.415, 0.475),
    ("mushrooms", "kernel k-means"): (0.42, 0.57),
    ("mushrooms", "spectral"): (0.28, 0.465),
    ("pendigits", "kernel k-means"): (0.685, 0.695),
    ("pendigits", "spectral"): (0.645, 0.67),
}

# The same, Table 5: NMI and seconds (Nystrom, reduction, k-means, total) by (s, c); MNIST8M on 32 nodes.
TABLE5: dict[tuple[int, int], tuple[float, float, float, float, float]] = {
    (20, 100): (0.383, 139, 1, 61, 227),
    (20, 400): (0.398, 665, 39, 120, 868),
    (20, 1600): (0.407, 2635, 31, 87, 2785),
    (80, 400): (0.410, 696, 95, 105, 941),
    (80, 1600): (0.423, 2728, 98, 88, 2952),
}

# The same, Figure 2 (b): NMI by s at c = 1600.
FIGURE2: dict[int, float] = {10: 0.385, 20: 0.407, 40: 0.413, 80: 0.423, 160: 0.409, 320: 0.410}

# The same, Table 6: total seconds by nodes of 32 cores, c = 400, s = 80.
TABLE6: dict[int, float] = {8: 3168, 16: 1493, 32: 941, 64: 776, 128: 1232}

# Ma, Belkin, MLSys 2019, Table 3, seconds until better than LibSVM: EigenPro 2.0, ThunderSVM, LibSVM.
EIGENPRO_TABLE3: dict[str, tuple[float, float, float]] = {
    "mnist": (6, 31, 540),
    "cifar10_grey": (8, 121, 12240),
    "svhn": (13, 142, 13680),
}

# The reference code's own run, MNIST, Gaussian 5: test error in percent after epochs 1 to 5.
EIGENPRO_README = (1.53, 1.43, 1.30, 1.23, 1.28)
