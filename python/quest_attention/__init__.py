"""Query-modulated spherical attention (QUEST) and its relatives for PyTorch, over fused kernels."""

from ._library import load_libraries

load_libraries()

from . import _operators  # noqa: E402, F401  (registers the operators' derivatives)
from ._attention import attention  # noqa: E402
from ._convert import Conversion, convert  # noqa: E402
from ._explain import Explanation, explain  # noqa: E402
from ._formulation import FORMULATIONS, Formulation  # noqa: E402
from ._hf_names import register_hf  # noqa: E402
from ._monitor import ExplosionWarning, Monitor, monitor  # noqa: E402
from ._patch import Patch, patch  # noqa: E402
from ._paths import AttentionStats  # noqa: E402
from ._rules import RULES  # noqa: E402
from ._switch import use  # noqa: E402

__version__: str = RULES["version"]

__all__ = [
    "FORMULATIONS",
    "AttentionStats",
    "Conversion",
    "Explanation",
    "ExplosionWarning",
    "Formulation",
    "Monitor",
    "Patch",
    "attention",
    "convert",
    "explain",
    "monitor",
    "patch",
    "register_hf",
    "use",
]
