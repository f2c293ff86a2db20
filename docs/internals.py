"""A Sphinx extension that takes internals out of Doxygen's description of the public headers.

Doxygen writes private members and friends into XML whatever its settings are. Inline functions
also need public names that no program uses. The functions and variables among these are not hidden
by EXCLUDE_SYMBOLS, so all of them are listed here.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from sphinx.application import Sphinx

#: Full names of namespaces, classes, functions, variables and macros.
NAMES = re.compile(
    r"""
      .*::detail (::.*)? | nanobind (::.*)? | ENTREPOT_ARRAY_OF_\w+
    | .*:: (Record | \w+Row) (::.*)? | .*:: (\w+_ | \w+_table | speaker | refuse_\w+)
    | entrepot:: (Hex | PeerStreams) (::.*)?
    | entrepot:: (dtype_rows | dtype_sizes | dtype_formats | is_format_of_ours)
    | entrepot:: (live_pools | waiting_pools | live_trackers | live_queues)
    | entrepot:: (Context | Device | Memory)::record | entrepot:: (Context | Event)::adopt
    | entrepot::make_legacy_stream_of
    | entrepot::Queue:: (
          of_event | as_event_queue | follows_in_captures | internal_for_context | make_immortal
        | make_default_stream | capture_of_work | next_position | reserve_position | is_event_queue
        | identity
      )
    | entrepot::Memory:: (AccessRecorder | LeftQueues | Operand | PeerBits) (::.*)?
    | entrepot::Memory:: (
          can_access_without_wait | drop_consumers | has_destroyable_owner_stream | has_owner_stream
        | has_peers | is_used_in_stream_order | keep_for_graph | kind_unasked | of_block
        | record_event_access | recycle | released_consumers | set_for_one_operation
      )
    | entrepot::Operation::resume
    | entrepot::PoolResource::has_waiting | entrepot::StatisticsResource::SecondTry (::.*)?
    | entrepot::\w+Resource:: (take_finished | wait_for_all)
    | entrepot::dlpack:: (
          borrow | check_subbyte | find_named | first_element | locate | named_device
        | named_devices | NamedDevice (::.*)? | reach_of | read
      )
    | entrepot::exchange::possible_consumers
    | entrepot::registry:: (
          foreign_queue | ForeignQueue | loader | made_host_place | set_foreign_queue
      )
    """,
    re.VERBOSE,
)
#: Types of which programs have no objects. A function is left out if its signature has one.
TYPES = re.compile(r"\b(Record|Hex|Operand|\w+Row)\b")


def text_of(node: ElementTree.Element, tag: str) -> str:
    found = node.find(tag)
    return "" if found is None else "".join(found.itertext())


def is_repeated(node: ElementTree.Element) -> bool:
    """True for a member of the inline namespace `extension` that Doxygen also lists around it."""
    location = node.find("location")
    return location is not None and location.get("file", "").startswith("entrepot/python/")


def is_internal(node: ElementTree.Element, described: set[str]) -> bool:
    """True if no program uses what the node describes. `described` are all classes and structs."""
    if node.tag in ("innerclass", "innernamespace"):
        return node.get("prot") == "private" or bool(NAMES.fullmatch(node.text or ""))
    if node.tag != "memberdef":
        return False
    name, kind, type_ = text_of(node, "name"), node.get("kind"), text_of(node, "type")
    return bool(
        node.get("prot") == "private"
        or kind == "friend"
        or (kind == "typedef" and type_ == f"enum {name}")
        or (kind == "typedef" and type_ == f"struct {name}" and name in described)
        or NAMES.fullmatch(text_of(node, "qualifiedname") or name)
        or TYPES.search(type_ + text_of(node, "argsstring"))
    )


def take_out(folder: Path) -> None:
    """Rewrites the XML files in the folder."""
    index = ElementTree.parse(folder / "index.xml")
    described = {compound.findtext("name", "") for compound in index.iter("compound")}
    for path in folder.glob("*.xml"):
        tree = ElementTree.parse(path)
        for compound in tree.findall("compounddef"):
            is_outer = compound.findtext("compoundname") == "entrepot"
            for parent in list(compound.iter()):
                for child in list(parent):
                    if is_internal(child, described) or (
                        is_outer and child.tag == "memberdef" and is_repeated(child)
                    ):
                        parent.remove(child)
            for section in compound.findall("sectiondef"):
                if section.find("memberdef") is None:
                    compound.remove(section)
            tree.write(path, encoding="utf-8", xml_declaration=True)


def take_out_of_project(app: Sphinx) -> None:
    for folder in app.config.breathe_projects.values():
        take_out(Path(folder))


def setup(app: Sphinx) -> dict[str, bool]:
    # after Doxygen, which docs/conf.py runs at the same event
    app.connect("builder-inited", take_out_of_project, priority=900)
    return {"parallel_read_safe": True}
