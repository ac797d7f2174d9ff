"""``gradcli.autograd.anomaly_mode``: the search for NaN, under PyTorch's names."""

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.backward.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
