"""Who may import whom, as the design has it: the contracts of pyproject.toml hold."""

import pathlib

from importlinter.application.use_cases import create_report, read_user_options
from importlinter.configuration import configure


def test_import_contracts_are_kept(monkeypatch):
    root = pathlib.Path(__file__).resolve().parents[1]
    monkeypatch.chdir(root)
    configure()
    report = create_report(read_user_options(config_filename=str(root / "pyproject.toml")))
    assert report.contains_failures is False
    assert len(list(report.get_contracts_and_checks())) == 3
