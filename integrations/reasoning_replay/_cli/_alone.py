"""Modules of our LiteLLM layer that need no LiteLLM, without the package around them, which imports it (seconds).

They are read a second time, under a package of another name: their classes are not those of the layer itself.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_HOUSE = __package__.rpartition(".")[0]
_NAME = f"{_HOUSE}._litellm_alone"


def alone(name: str) -> Any:
    """The module of that name in `litellm/`."""
    if _NAME not in sys.modules:
        package = ModuleType(_NAME)
        package.__path__ = [str(Path(__file__).parent.parent / "litellm")]
        sys.modules[_NAME] = package
    return import_module(f"{_NAME}.{name}")
