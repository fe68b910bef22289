"""Tests: values that do not belong where they are put."""

from __future__ import annotations

from typing import Any

NUMBERS: list[Any] = [0, 1, -1, 2, 3, 7, 255, 2**31, 2**63 - 1, 2**63, 2**64, 10**9, 10**12, 10**15, 10**30]
NUMBERS += [10**400, -(10**18), 0.5, -0.0, 1e-320, 1e308, -1e308, 1e16, float("nan"), float("inf")]
TEXTS: list[Any] = ["", " ", "x", "X", "y", "c/0", "float32", "<f8", ">f4", "|O", "auto", "mean", "linear"]
TEXTS += ["../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:9/x", "..", "X/../../y"]
TEXTS += ["\0", "a\nb", "\u202e\u00e9\U0001f600", "\ud800", "A" * 100_000, "os.system", "__class__", "%s{0}"]
TEXTS += ["pickle", "python/object", "numcodecs.pickle", "sharding_indexed", "gzip", "blosc", "vlen-utf8"]
FORMS: list[Any] = [
    {"array": "classes-0"},
    {"array": "../../labels.zarr/X"},
    {"array": "dual_coef-1", "lazy": True},
    {"estimator": "Standardize", "parameters": {}, "fitted": {}},
    {"estimator": "__builtins__", "parameters": {}, "fitted": {}},
    {"kernel": "Gaussian", "fields": {"bandwidth": "mean"}},
    {"kernel": "Gaussian", "fields": {"bandwidth": 10**400}},
    {"kernel": "Polynomial", "fields": {"degree": 10**9}},
    {"kernel": "CallableKernel", "fields": {"function": "os.system"}},
    {"dtype": "O"},
    {"dtype": "<U1000000000"},
    {"dtype": "V1000000000000"},
    {"dtype": "f8,f8"},
    {"dtype": {"names": ["a"], "formats": ["O"]}},
    {"strings": ["a", "b", "c"], "dtype": "<U1000000000"},
    {"strings": ["a", 1, None], "dtype": "|O"},
    {"strings": [[1], {}], "dtype": "<U3"},
    {"values": [], "shape": [0, 10**12], "dtype": "<f8"},
    {"values": [10**30], "shape": [1], "dtype": "<i8"},
    {"values": [[1], [2, 3]], "shape": [-1], "dtype": "<f8"},
    {"values": 3.0, "shape": [], "dtype": "<f8"},
    {"reference": {"path": "/etc", "digest": "0"}},
    {"reference": "x"},
    {"float": "nan"},
    {"float": "1e400"},
    {"list": [1, {"list": ["a"]}]},
    {"list": 5},
    {"items": [[{"list": []}, 1]]},
    {"items": [[1, 2, 3]]},
    {"pipeline": []},
    {"pipeline": [["a", 1]]},
]
OTHERS: list[Any] = [None, True, False, [], {}, [[]], {"a": 1}, [1] * 3000, ["a", "a"], [0, 1, 2], [[1, 2]]]
GROUPS = [NUMBERS, TEXTS, FORMS, OTHERS]

# What a file says, by key, that is of the right type and wrong all the same.
PLAUSIBLE: dict[str, list[Any]] = {
    "shape": [[10**15, 3], [10**15], [200], [200, 3, 1], [199, 3], [200, 4], [0, 3], [64, 3], [10**6, 3]],
    "chunk_shape": [[10**15, 3], [1, 3], [64, 1], [65, 3], [0, 3], [10**9, 3], [64, 4], [200]],
    "data_type": ["float64", "int32", "uint8", "bool", "complex128", "string", "r16", "float16", "object"],
    "fill_value": [1, 1.5, "NaN", "0x00", None, [0]],
    "endian": ["big", None, "little"],
    "separator": [".", "/", "../"],
    "name": ["zstd", "gzip", "bytes", "crc32c", "sharding_indexed", "numcodecs.pickle", "irregular", "v2"],
    "codecs": [[], [{"name": "bytes"}], ["bytes", "zstd", "crc32c"], [{"name": "pickle"}] * 3],
    "zarr_format": [2, 4, "3"],
    "node_type": ["group", "array", "folder"],
    "format": [0, 2, "1", 1.0],
    "complete": [False, 1, "true"],
    "kind": ["model", "dataset", "predictions"],
    "n_rows": [10**15, 199, 201, 0, "200", 200.0],
    "n_features": [10**15, 2, 4, 0, "3"],
    "classes": [["low"], ["low", "mid", "top", "more"], ["a", "a", "b"], [0, 1, 2], "abc", 5, [None] * 3],
    "feature_names": [["a"], ["a", "b", 3], "abc", [["a"], ["b"], ["c"]], 3],
    "feature_shape": [[10**9, 10**9], [1, 1], "34", [-3, -4], [12], [3, 4.0]],
    "arrays": [[], ["../X"], ["X", "X"], [1], "abc", ["/etc"]],
    "estimator": [
        "EigenProClassifier",
        "EigenProRegressor",
        "KernelKMeans",
        "Standardize",
        "NystromFeatures",
    ],
    "kernel": ["Gaussian", "Linear", "Polynomial", "Stationary", "Kernel", "Cosine", "CallableKernel"],
    "bandwidth": ["mean", "median", 1e-200, 1e200, 0, -1, True],
    "degree": [10**9, 0, 2.5, 1e300],
    "n_features_in_": [2, 4, 10**15, "3", 3.0],
    "_flat": [True, False, 1, None],
    "verbose": [1, "a", None],
    "dtype": ["<f4", "<f8", "<f2", "<i4", "|O", "<c16", "float16"],
    "scratch": ["/etc", 5, "http://127.0.0.1:9/"],
    "with_mean": [False, None, "no"],
}
