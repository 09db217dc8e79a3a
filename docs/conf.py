"""The site: `make docs` writes it to build/site, from the pages of this folder and the package's own words.

Nothing is fetched: formulas become MathML (`making.mathematics`), names of other packages lead to their sites by
inventories made here (`making.elsewhere`), and pages load no script or font from elsewhere.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import flexarm  # noqa: E402

project = "flexarm"
author = "the flexarm authors"
copyright = author
version = release = flexarm.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "making.elsewhere",
    "making.mathematics",
    "making.docstrings",
    "making.descriptions",
    "making.commands",
    "making.results",
    "making.gallery",
    "making.cookbook",
    "making.notebooks",
    "making.measured",
    "making.look",
    "making.llms",
]
exclude_patterns = ["making", "static"]
nitpicky = False
suppress_warnings: list[str] = []

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say it, with shapes and units
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_param = False  # the words of a type are words; names among them become links in making.docstrings
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
default_role = "py:obj"

copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = "$ "

html_theme = "furo"
html_title = "flexarm"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["versions.js"]  # a choice of versions, where `making.versions` has published several
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b5fa5", "color-brand-content": "#0b5fa5"},
    "dark_css_variables": {"color-brand-primary": "#6cb6ff", "color-brand-content": "#6cb6ff"},
}
