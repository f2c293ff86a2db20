"""Configuration of the documentation site: Sphinx, Markdown pages by MyST, the Furo theme."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

from sphinx.errors import ExtensionError

project = "Entrepot"
author = "The Entrepot developers"
copyright = author
release = importlib.metadata.version("entrepot")

root = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "docs"))
headers = root / "build" / "doxygen"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.graphviz",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "breathe",
    "described",
    "internals",
]
# Notebooks are stored without output. An error in a cell fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
graphviz_output_format = "svg"
breathe_projects = {"entrepot": str(headers / "xml")}
breathe_default_project = "entrepot"
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3
# Types of parameters are prose, as in NumPy's reference.
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
html_theme = "furo"
html_title = f"Entrepot {release}"
html_static_path = ["static"]
html_css_files = ["entrepot.css"]
nitpicky = True
# The inventory of Debian's python3-doc, so that a build needs no network.
inventories = sorted(Path("/usr/share/doc").glob("python3*/html/objects.inv"))
intersphinx_mapping = (
    {"python": ("https://docs.python.org/3", str(inventories[-1]))} if inventories else {}
)
nitpick_ignore_regex = [
    # Without the inventory, the types of Python's library are unknown.
    *([] if inventories else [("py:.*", r"(collections\.abc|os|typing|types)\..*")]),
    # Data in Python's inventory.
    ("py:class", r"types\.LambdaType"),
    # Classes without a public name, or with another one than that of their module.
    ("py:.*", r"entrepot\.(Form|_Graph|numba_cuda\.(arrays|devices|dispatcher)\..*)"),
    ("py:.*", r"numpy\..*|_asyncio\..*"),
    # Doxygen gives types as text, of which Sphinx knows those on the pages alone.
    ("cpp:.*", r".*"),
]
# A namespace is declared in every header, and an enumeration of C twice in its own.
suppress_warnings = ["duplicate_declaration.cpp"]
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


def read_headers(app):
    """Runs Doxygen on the public headers."""
    headers.mkdir(parents=True, exist_ok=True)
    settings = (root / "docs" / "Doxyfile").read_text() + f"OUTPUT_DIRECTORY = {headers}\n"
    done = subprocess.run(
        ["doxygen", "-"], input=settings, cwd=root, check=True, text=True, stderr=subprocess.PIPE
    )
    # It reads no headers of the standard library, whose templates are specialized here.
    faults = [line for line in done.stderr.splitlines() if "scope for class std::" not in line]
    if faults:
        raise ExtensionError("Doxygen: " + "\n".join(faults))
    # Breathe finds a header by its name in the index, where Doxygen leaves the folder out. For each
    # class it would link to a page of the class's header.
    for described in (headers / "xml").glob("*.xml"):
        text = described.read_text()
        text = re.sub(r"<includes .*</includes>", "", text)
        if described.name == "index.xml":
            text = re.sub(r'refid="(\w+)" kind="file"><name>[^<]*', named_with_folder, text)
        described.write_text(text)


def named_with_folder(entry):
    """The entry of a header in Doxygen's index, with the folder."""
    described = (headers / "xml" / f"{entry[1]}.xml").read_text()
    path = re.findall(r'<location file="([^"]*)"/>', described)[-1]
    return f'refid="{entry[1]}" kind="file"><name>{path}'


def draw_measurements(app):
    """Writes the tables and charts of performance.md."""
    folder = root / "build" / "performance"
    files = sorted((root / "docs" / "measured").glob("*.json"))
    subprocess.run([sys.executable, root / "tools/performance.py", folder, *files], check=True)


def setup(app):
    app.connect("builder-inited", draw_measurements)
    app.connect("builder-inited", read_headers)
    app.connect("autodoc-process-docstring", mark_code_blocks)
    app.connect("autodoc-process-signature", name_the_public_module)
