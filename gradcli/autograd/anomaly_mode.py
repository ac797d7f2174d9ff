"""``gradcli.autograd.anomaly_mode``: the search for NaN, under PyTorch's names."""

from gradcli.engine.backward.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
