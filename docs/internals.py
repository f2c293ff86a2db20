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

#: Patterns of the full names of namespaces, classes, functions, variables and macros. Each has to
#: match something, so that a name that is gone does not stay.
NAMES = (
    ".*::detail(::.*)?",
    "nanobind(::.*)?",
    r"ENTREPOT_ARRAY_OF_\w+",
    ".*::Record(::.*)?",
    r".*::\w+Row(::.*)?",
    r".*::\w+_",
    r".*::\w+_table",
    ".*::speaker",
    r".*::refuse_\w+",
    "entrepot::Hex(::.*)?",
    "entrepot::PeerStreams(::.*)?",
    "entrepot::dtype_rows",
    "entrepot::dtype_sizes",
    "entrepot::dtype_formats",
    "entrepot::is_format_of_ours",
    "entrepot::live_pools",
    "entrepot::waiting_pools",
    "entrepot::live_trackers",
    "entrepot::live_queues",
    "entrepot::(Context|Device|Memory)::record",
    "entrepot::(Context|Event)::adopt",
    "entrepot::make_legacy_stream_of",
    "entrepot::Queue::of_event",
    "entrepot::Queue::as_event_queue",
    "entrepot::Queue::follows_in_captures",
    "entrepot::Queue::internal_for_context",
    "entrepot::Queue::make_immortal",
    "entrepot::Queue::make_default_stream",
    "entrepot::Queue::capture_of_work",
    "entrepot::Queue::next_position",
    "entrepot::Queue::reserve_position",
    "entrepot::Queue::is_event_queue",
    "entrepot::Queue::identity",
    "entrepot::Memory::AccessRecorder(::.*)?",
    "entrepot::Memory::LeftQueues(::.*)?",
    "entrepot::Memory::Operand(::.*)?",
    "entrepot::Memory::PeerBits(::.*)?",
    "entrepot::Memory::can_access_without_wait",
    "entrepot::Memory::drop_consumers",
    "entrepot::Memory::has_destroyable_owner_stream",
    "entrepot::Memory::has_owner_stream",
    "entrepot::Memory::has_peers",
    "entrepot::Memory::is_used_in_stream_order",
    "entrepot::Memory::keep_for_graph",
    "entrepot::Memory::kind_unasked",
    "entrepot::Memory::of_block",
    "entrepot::Memory::record_event_access",
    "entrepot::Memory::recycle",
    "entrepot::Memory::released_consumers",
    "entrepot::Memory::set_for_one_operation",
    "entrepot::Operation::resume",
    "entrepot::PoolResource::has_waiting",
    "entrepot::StatisticsResource::SecondTry(::.*)?",
    r"entrepot::\w+Resource::take_finished",
    r"entrepot::\w+Resource::wait_for_all",
    "entrepot::dlpack::borrow",
    "entrepot::dlpack::check_subbyte",
    "entrepot::dlpack::find_named",
    "entrepot::dlpack::first_element",
    "entrepot::dlpack::locate",
    "entrepot::dlpack::named_device",
    "entrepot::dlpack::named_devices",
    "entrepot::dlpack::NamedDevice(::.*)?",
    "entrepot::dlpack::reach_of",
    "entrepot::dlpack::read",
    "entrepot::exchange::possible_consumers",
    "entrepot::registry::foreign_queue",
    "entrepot::registry::ForeignQueue",
    "entrepot::registry::loader",
    "entrepot::registry::made_host_place",
    "entrepot::registry::set_foreign_queue",
)
#: Types of which programs have no objects. A function is left out if its signature has one.
TYPES = re.compile(r"\b(Record|Hex|Operand|\w+Row)\b")


def text_of(node: ElementTree.Element, tag: str) -> str:
    found = node.find(tag)
    return "" if found is None else "".join(found.itertext())


def is_internal_name(name: str, matched: set[str]) -> bool:
    """True if a pattern matches the name; adds those that do to ``matched``."""
    found = {pattern for pattern in NAMES if re.fullmatch(pattern, name)}
    matched |= found
    return bool(found)


def is_repeated(node: ElementTree.Element) -> bool:
    """True for a member of the inline namespace `extension` that Doxygen also lists around it."""
    location = node.find("location")
    return location is not None and location.get("file", "").startswith("entrepot/python/")


def is_internal(node: ElementTree.Element, described: set[str], matched: set[str]) -> bool:
    """True if no program uses what the node describes. `described` are all classes and structs."""
    if node.tag in ("innerclass", "innernamespace"):
        return is_internal_name(node.text or "", matched) or node.get("prot") == "private"
    if node.tag != "memberdef":
        return False
    name, kind, type_ = text_of(node, "name"), node.get("kind"), text_of(node, "type")
    is_named = is_internal_name(text_of(node, "qualifiedname") or name, matched)
    return bool(
        is_named
        or node.get("prot") == "private"
        or kind == "friend"
        or (kind == "typedef" and type_ == f"enum {name}")
        or (kind == "typedef" and type_ == f"struct {name}" and name in described)
        or TYPES.search(type_ + text_of(node, "argsstring"))
    )


def take_out(folder: Path) -> None:
    """Rewrites the XML files in the folder.

    Raises ValueError if a pattern matches nothing.
    """
    matched: set[str] = set()
    index = ElementTree.parse(folder / "index.xml")
    described = {compound.findtext("name", "") for compound in index.iter("compound")}
    for path in folder.glob("*.xml"):
        tree = ElementTree.parse(path)
        for compound in tree.findall("compounddef"):
            is_outer = compound.findtext("compoundname") == "entrepot"
            for parent in list(compound.iter()):
                for child in list(parent):
                    if is_internal(child, described, matched) or (
                        is_outer and child.tag == "memberdef" and is_repeated(child)
                    ):
                        parent.remove(child)
            for section in compound.findall("sectiondef"):
                if section.find("memberdef") is None:
                    compound.remove(section)
            tree.write(path, encoding="utf-8", xml_declaration=True)
    if gone := set(NAMES) - matched:
        raise ValueError(f"docs/internals.py: nothing is called {', '.join(sorted(gone))}")


def take_out_of_project(app: Sphinx) -> None:
    for folder in app.config.breathe_projects.values():
        take_out(Path(folder))


def setup(app: Sphinx) -> dict[str, bool]:
    # after Doxygen, which docs/conf.py runs at the same event
    app.connect("builder-inited", take_out_of_project, priority=900)
    return {"parallel_read_safe": True}
