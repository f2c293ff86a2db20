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
# The types of Python's library are not part of this site, nor are internal types of entrepot.ffi.
nitpick_ignore_regex = [
    ("py:.*", r"(collections\.abc|os|typing|types)\..*"),
    ("py:.*", r"entrepot\.Form"),
]
autodoc_member_order = "groupwise"


def name_the_public_module(app, what, name, obj, options, signature, returns):
    """Shows the types of the extension module under their public names."""
    public = [
        text and text.replace("entrepot._core.", "entrepot.") for text in (signature, returns)
    ]
    return tuple(public)


def mark_code_blocks(app, what, name, obj, options, lines):
    """Docstrings have indented code without reStructuredText's ``::``, so add that before it."""
    marked = []
    for line in lines:
        text = [each for each in marked if each]
        follows_text = text and not text[-1].startswith(" ") and not text[-1].endswith("::")
        if line.startswith("    ") and marked and not marked[-1] and follows_text:
            marked += ["::", ""]
        marked.append(line)
    lines[:] = marked


def setup(app):
    app.connect("autodoc-process-docstring", mark_code_blocks)
    app.connect("autodoc-process-signature", name_the_public_module)
