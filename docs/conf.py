"""Configuration of the documentation site: Sphinx, Markdown pages by MyST, the Furo theme."""

import importlib.metadata

project = "Entrepot"
author = "The Entrepot developers"
copyright = author
release = importlib.metadata.version("entrepot")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"Entrepot {release}"
nitpicky = True
# Python's own types are not part of this site.
nitpick_ignore_regex = [("py:.*", r"(collections\.abc|typing|types)\..*")]
autodoc_member_order = "groupwise"
