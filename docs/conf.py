"""How Sphinx makes the site: `make docs`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from hanabi_search_plugin import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

OPTIONAL = (
    "endplay",
    "matplotlib",
    "PIL",
    "ray",
    "sb3_contrib",
    "stable_baselines3",
    "tianshou",
    "torch",
)
"""Libraries of extras: what needs one that is not installed is described all the same."""

ALIASES = (
    "AnyBlueprint",
    "AnyPolicy",
    "Blueprint",
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Memory",
    "Objective",
)
"""Names of types that signatures show as they are written."""

project = "hanabi-search-plugin"
author = "The hanabi-search-plugin authors"
copyright = author
release = __version__

extensions = [
    "myst_nb",  # Markdown and notebooks
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "api_pages",
    "outside_pages",
    "unbroken_numbers",
]
exclude_patterns = ["_build", "_extensions", "**.ipynb_checkpoints"]
nitpicky = True

nitpick_ignore_regex = [("py:(?!obj).*", ".*")]  # types of other libraries and of inner modules
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False  # what a contract says stands with the contract
autodoc_member_order = "bysource"
autodoc_mock_imports = [name for name in OPTIONAL if find_spec(name) is None]
autodoc_type_aliases = {name: name for name in ALIASES}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4  # names as GitHub gives them
nb_execution_mode = "off"  # notebooks are shown as they are stored; tests run them

copybutton_exclude = ".linenos, .gp, .go"
pygments_style = "friendly"
pygments_dark_style = "monokai"

html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_copy_source = False
html_show_sphinx = False
