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
# Python's own types are not part of this site, nor is what declarations of C become inside.
nitpick_ignore_regex = [("py:.*", r"(collections\.abc|typing|types)\..*"), ("py:.*", r"entrepot\.Form")]
autodoc_member_order = "groupwise"


def name_the_public_module(app, what, name, obj, options, signature, returns):
    """The types of the extension module are known by the names under which the package publishes them."""
    public = [text and text.replace("entrepot._core.", "entrepot.") for text in (signature, returns)]
    return tuple(public)


def setup(app):
    app.connect("autodoc-process-signature", name_the_public_module)
