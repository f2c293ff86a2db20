"""tools/bindgen on a header of its own: the result of each rule, and the behavior of the
module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.modules import load_module
from support.processes import completed

ROOT = Path(__file__).resolve().parents[3]
BINDGEN = ROOT / "build/bindgen/bindgen"

pytestmark = pytest.mark.bindgen

#: More results than a line has room for.
MANY = [f"number_{i}" for i in range(30)]

HEADER = """
#pragma once
#include <stddef.h>
#include <stdint.h>
#define ANSWER 42
#define NAME "boxes"
#define RATIO 0.5
#define ADDRESS ((void *)3)
#define LATER_first first
enum { NAMELESS = 7 };
/** Colors of boxes. */
typedef enum { RED = -1, /**< as a rose */
 BLUE = 5, /**< of the sky at noon in the middle of June where it is seen from
 a hill that is high enough to be above the clouds */ } color;
typedef struct box_s *box;
/** A crate. */
typedef struct crate {
    char label[4];
    unsigned a : 3, b : 9;
    union { int whole; float real; };
    struct { color shade; } paint[2];
    const struct crate *next;
    void (*opened)(int times);
} crate_t;
/** @} */
/**---------------------------
 * ---------------------------
 * @defgroup Words Words of boxes
 * @{
 * This section describes words.
 */
/**
 * @brief The first.
 * @param [in] text  What is read.
 * @param[out] length Its length.
 * @return zero */
int first(const char *text, size_t *length);
/** * Whose box it is.
 * @} */
int make(box *out);
int split(int whole, int *quotient, float *remainder);
void draw(color shade, unsigned char times);
int use(box it, crate_t by_value, const crate_t *by_address, const int *numbers,
        const char **names);
/**
 * @param[in,out] seen   Read, and written anew.
 * @param[out]    corner Written.
 * @param[out]    room   As many bytes as there are.
 * @param[out]    fixed  The documentation errs. */
int ruled(const unsigned *few, const unsigned long *many, void *const *rows,
          const int *const *tables, int *seen, crate_t *corner, char *room, const int *fixed);
int unruled(long *numbers, double *reals, color *shades, int **made, int with_length[3]);
int labeled(const char *labels[2], int (*apply)(int));
int unknown(int *what);
int written(void *to, size_t bytes);
int printed(const char *format, ...);
static inline int inlined(void) { return 1; }
/** A shelf, which C knows nothing of. */
typedef void *shelf;
int build(shelf *made);
int look(shelf at, const shelf beside, void *else_where);
int counted(const int *values, int num_values, void *const *pRows, size_t *pNumRows,
            const int *masks, int masksSize);
int copied(void *dst, const void *srcHost, void *other, size_t sizeBytes);
int stored(const void *image, size_t image_size, const int *shape, int shape_size,
           const char *text, int textLength);
int drawn(const float *reals, const short *few, const crate_t *crates,
          const unsigned char *bytes, size_t n);
int drawn_later(const float *reals, int times);
typedef int (*chooser)(box it, color which);
int choose(chooser with);
"""

SOURCE = """
#include "boxes.h"
#include <string.h>
int first(const char *text, size_t *length) { *length = strlen(text); return 0; }
int unknown(int *what) { return ++*what; }
int use(box it, crate_t by_value, const crate_t *by_address, const int *numbers,
        const char **names) {
    return by_value.b + by_address->b + numbers[0] + names[0][0];
}
int ruled(const unsigned *few, const unsigned long *many, void *const *rows,
          const int *const *tables, int *seen, crate_t *corner, char *room, const int *fixed) {
    strcpy(corner->label, "abc");
    strcpy(room, "xyz");
    *seen = *tables[0] + 1;
    return few[0] == 1 && many[0] == 1ul << 63 && !rows[0] && fixed[0] == 3;
}
"""

SETTINGS = """
name = "boxes"
title = "Boxes."
headers = ["boxes.h"]
files = ["/boxes.h"]
sonames = ["{folder}/libboxes.so"]
handles = ["shelf"]
advice = "Boxes are found where boxes are kept, and are kept where boxes are found: \
look there, and look again, then elsewhere."
[parameters]
split = {{ quotient = "returned", remainder = "returned" }}
written = {{ to = "out" }}
copied = {{ dst = "out" }}
"drawn*" = {{ reals = {{ count = "n" }}, few = {{ bytes = "2 * n" }}, \
crates = {{ count = "n" }}, bytes = {{ count = "n" }} }}
stored = {{ shape = {{ count = "shape_size", refusal = "somewhere.why_not" }} }}
[choices]
ANSWER = {{ symbol = "later", with = "ANSWER", \
without = {{ symbol = "first", with = "41", without = "40" }} }}
[enums.color]
members = [["GREEN", 6]]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boxes")
    (folder / "boxes.h").write_text(
        f"{HEADER}int measure(shelf at, {', '.join(f'int *{each}' for each in MANY)});\n"
    )
    (folder / "boxes.c").write_text(SOURCE)
    measured = '[parameters."measure"]\n' + "".join(f'{each} = "returned"\n' for each in MANY)
    (folder / "boxes.toml").write_text(SETTINGS.format(folder=folder) + measured)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", folder / "libboxes.so", folder / "boxes.c"], check=True
    )
    subprocess.run(
        [BINDGEN, folder / "boxes.toml", folder / "boxes.json", folder / "boxes.py", f"-I{folder}"],
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def boxes(folder):
    yield load_module(folder / "boxes.py", register=True)
    del sys.modules["boxes"]


@pytest.mark.parametrize(
    "line",
    [
        "def first(text: In[CStr], length: Returned[c_size_t]) -> c_int:",
        "def make(out: Returned[box]) -> c_int:",
        "def use(it: box, by_value: crate, by_address: In[crate], numbers: In[ListOfInt], names: "
        "InOut[ListOfBytes]) -> c_int:",
        "    few: In[ListOfUnsigned],",
        "    many: In[ListOfUnsignedLong],",
        "    rows: In[ListOfPointer],",
        "    tables: In[ListOfPointer],",
        "    seen: InOut[ListOfInt],",
        "    corner: Returned[crate],",
        "    room: Out[Pointer],",
        "    fixed: In[ListOfInt],",
        "    numbers: InOut[ListOfLong],",
        "    reals: InOut[Pointer],",
        "    shades: InOut[ListOfInt],",
        "    made: Returned[Pointer],",
        "    with_length: InOut[ListOfInt],",
        "def unknown(what: InOut[ListOfInt]) -> c_int:",
        "def written(to: Out[Pointer], bytes: c_size_t) -> c_int:",
        '    values: In[ListOfInt](count="num_values"),',
        '    pRows: In[ListOfPointer](count="pNumRows"),',
        "    masks: In[ListOfInt],",
        '    dst: Out[Pointer](bytes="sizeBytes"),',
        '    srcHost: In[Pointer](bytes="sizeBytes"),',
        "    other: InOut[Pointer],",
        '    image: In[Pointer](bytes="image_size"),',
        '    shape: In[ListOfInt](count="shape_size", refusal="somewhere.why_not"),',
        "    text: In[CStr],",
        '    reals: In[Pointer](bytes="4 * n"),',
        '    few: In[Pointer](bytes="2 * n"),',
        '    crates: In[crate](count="n"),',
        '    bytes: In[Pointer](bytes="n"),',
        "def drawn_later(reals: In[Pointer], times: c_int) -> c_int:",
        "def chooser(it: box, which: color) -> c_int:",
        "class shelf:",
        "def build(made: Returned[shelf]) -> c_int:",
        "def look(at: shelf, beside: shelf, else_where: InOut[Pointer]) -> c_int:",
        "def choose(with_: chooser) -> c_int:",
        "LATER_first = first",
        "    RED = -1  # as a rose",
        "    b: bits(c_uint, 3, 9) @ 4",
        "    union_0: anonymous(crate_union_0) @ 8",
        "    paint: crate_struct_0 * 2 @ 12",
        "    next: At[crate] @ 24",
        "    opened: crate_opened @ 32",
        "crate_t = crate",
        '    """A crate."""',
    ],
)
def test_module_has_line(folder, line):
    assert line in (folder / "boxes.py").read_text().splitlines()


STUB = """
class box_s(Handle): ...
class color(enum.IntEnum):
    opened: crate_opened
    def __init__(self, *, whole: int = ..., real: float = ...) -> None: ...
    def __init__(self, shade: color | int = ...) -> None: ...
@overload
def first(text: object) -> tuple[int, int]: ...
def first(text: object, *, length: object) -> int: ...
def first(text: object, length: object, /) -> int: ...
def split(whole: int) -> tuple[int, int, float]: ...
def split(whole: int, *, quotient: object = ..., remainder: object = ...) -> Any: ...
def split(whole: int, quotient: object, remainder: object, /) -> int: ...
def draw(shade: color | int, times: int) -> None: ...
"""


@pytest.mark.parametrize("line", STUB.strip().splitlines())
def test_stub_has_line(folder, line):
    assert line in (folder / "boxes.pyi").read_text().splitlines()


def test_stub_names_fields_of_record(folder):
    text = (folder / "boxes.pyi").read_text()
    record = text[text.index("class crate(Record):") :].partition("\nclass ")[0]
    assert record.splitlines()[1:-1] == [
        "    label: bytes",
        "    a: int",
        "    b: int",
        "    union_0: crate_union_0",
        "    whole: int",
        "    real: float",
        "    paint: tuple[crate_struct_0, ...]",
        "    next: crate",
        "    opened: crate_opened",
        "    def __init__(",
        "        self,",
        "        label: object = ...,",
        "        a: int = ...,",
        "        b: int = ...,",
        "        union_0: object = ...,",
        "        paint: object = ...,",
        "        next: object = ...,",
        "        opened: object = ...,",
        "        *,",
        "        whole: int = ...,",
        "        real: float = ...,",
        "    ) -> None: ...",
    ]


def test_group_comment_is_not_a_docstring(boxes):
    assert boxes.first.__doc__.startswith("The first.\n\n    Args:")
    assert boxes.make.__doc__.startswith("Whose box it is.\n\n    ")


@pytest.mark.parametrize("suffix", ["py", "pyi"])
def test_generated_lines_fit_120_columns(folder, suffix):
    text = (folder / f"boxes.{suffix}").read_text()
    assert max(map(len, text.splitlines())) <= 120
    compile(text, suffix, "exec")  # the line breaks are valid Python


def test_parameters_without_a_rule_are_reported(folder):
    """Nothing else is reported: settings, const and documentation are no guesses."""
    assert (folder / "boxes.report").read_text().splitlines() == [
        "make.out: Returned[box], allocated by the callee",
        "use.names: InOut[ListOfBytes], for want of a rule",
        "ruled.fixed: In[ListOfInt], though the documentation has it as out",
        "unruled.numbers: InOut[ListOfLong], for want of a rule",
        "unruled.reals: InOut[Pointer], for want of a rule",
        "unruled.shades: InOut[ListOfInt], for want of a rule",
        "unruled.made: Returned[Pointer], allocated by the callee",
        "unruled.with_length: InOut[ListOfInt], for want of a rule",
        "labeled.labels: InOut[ListOfBytes], for want of a rule",
        "unknown.what: InOut[ListOfInt], for want of a rule",
        "printed: left out, because it takes any number of arguments",
        "build.made: Returned[shelf], allocated by the callee",
        "look.else_where: InOut[Pointer], for want of a rule",
        'counted.values: In[ListOfInt](count="num_values"), by the name alone',
        'counted.pRows: In[ListOfPointer](count="pNumRows"), by the name alone',
        "counted.pNumRows: InOut[ListOfUnsignedLong], for want of a rule",
        'copied.dst: Out[Pointer](bytes="sizeBytes"), by the name alone',
        'copied.srcHost: In[Pointer](bytes="sizeBytes"), by the name alone',
        "copied.other: InOut[Pointer], for want of a rule",
        'stored.image: In[Pointer](bytes="image_size"), by the name alone',
    ]


def test_docstring_shows_c_declaration(boxes):
    declared = (
        "C: int unruled(long *numbers, double *reals, color *shades, int **made, "
        "int with_length[3])"
    )
    assert declared in " ".join(boxes.unruled.__doc__.split())
    assert "C: int labeled(const char *labels[2], int (*apply)(int))" in boxes.labeled.__doc__
    assert "C: int use(box it, crate_t by_value, const crate_t *by_address" in boxes.use.__doc__


def test_arguments_follow_their_rules(boxes):
    """Each rule converts arguments to C as stated, and C's results are returned or written."""
    crate = boxes.crate(label="abcd", b=7)
    names = boxes.ListOfBytes([b"one", b"two"])
    assert boxes.use(None, crate, crate, [5, 6], names) == 7 + 7 + 5 + ord("o")
    assert boxes.use(
        None, crate, by_address=[crate][0], numbers=(1,), names=names
    ) == 7 + 7 + 1 + ord("o")
    with pytest.raises(TypeError, match=r"use\(\) argument 'by_value'"):
        boxes.use(None, 3, crate, [5], names)
    with pytest.raises(OverflowError, match=r"use\(\) argument 'numbers': element 1"):
        boxes.use(None, crate, crate, [5, 2**31], names)
    seen, room = boxes.ListOfInt([10]), bytearray(4)
    status, corner = boxes.ruled([1, 2], [2**63], [None], [seen], seen, room, [3])
    assert (status, seen[0], corner.label, room) == (1, 11, b"abc", b"xyz\0")
    with pytest.raises(
        ValueError, match=r"ruled\(\) argument 'room': the memory of a bytes is read-only"
    ):
        boxes.ruled([1], [2], [None], [seen], seen, b"1234", [3])
    with pytest.raises(OverflowError, match=r"ruled\(\) argument 'few'"):
        boxes.ruled([-1], [2], [None], [seen], seen, room, [3])


def test_generated_module_follows_the_header(boxes):
    assert (boxes.ANSWER, boxes.NAME, boxes.RATIO, boxes.ADDRESS, boxes.NAMELESS) == (
        41,
        "boxes",
        0.5,
        3,
        7,
    )
    assert boxes.first(b"four") == (0, 4)
    assert boxes.first("vier") == boxes.LATER_first("vier")
    assert boxes.unknown([41]) == 42
    assert (boxes.color.RED, boxes.color.GREEN) == (-1, 6)
    crate = boxes.crate(label="abcd", b=300, real=1.0)
    crate.paint[1].shade = boxes.color.BLUE
    assert (crate.label, crate.b, crate.whole, crate.paint[1].shade) == (
        b"abcd",
        300,
        0x3F800000,
        boxes.color.BLUE,
    )
    crate.next = crate
    assert crate.next.b == 300
    assert crate.next.next.next.label == b"abcd"
    crate.next = None
    assert crate.next is None
    assert not hasattr(boxes, "inlined")


def test_description_without_headers_gives_same_module(folder):
    before = (folder / "boxes.py").read_text()
    (folder / "boxes.py").write_text("")
    subprocess.run(
        [BINDGEN, folder / "boxes.toml", folder / "boxes.json", folder / "boxes.py"], check=True
    )
    assert (folder / "boxes.py").read_text() == before


NAMED = 'name = "x"\ntitle = "X"\n'


def refusal(folder):
    """The tool's error message for x.toml, which it refuses."""
    command = [BINDGEN, folder / "x.toml", folder / "x.json", folder / "x.py", f"-I{folder}"]
    done = completed(command)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('name = "x"\n', "'title' is missing"),
        ('name = "x"\ntitle = "X"\nheaders = ["none.h"]\n', "do not compile"),
        ('name = "x"\ntitle = "X"\nheader = "x.h"\n', "nothing is called 'header'"),
        ('name = "x\n', "x.toml:1"),
        (
            f'{NAMED}[parameters]\nf = "in"\n',
            "parameters.f: a table was expected, as in [parameters.f]",
        ),
        (f"{NAMED}[parameters]\nf = {{ a = 1 }}\n", "parameters.f.a: a table was expected"),
        (
            f'{NAMED}[parameters]\nf = {{ a = {{ bytes = "n", count = "n" }} }}\n',
            "f.a: 'bytes' and 'count' say the same thing",
        ),
        (f'{NAMED}choices = "x"\n', "choices: a table was expected"),
        (f'{NAMED}[choices]\nc = "x"\n', "choices.c: a table was expected"),
        (f"{NAMED}[defaults]\nd = 1\n", "defaults.d: a table was expected"),
        (f'{NAMED}[enums.e]\ntype = "int32"\n', "enums.e.members is missing"),
        (
            f'{NAMED}[enums.e]\ntype = "int32"\nmembers = 1\n',
            "enums.e.members: a list was expected",
        ),
        (
            f'{NAMED}[enums.e]\ntype = "int32"\nmembers = ["A", 1]\n',
            "enums.e.members: a list was expected",
        ),
        (
            f'{NAMED}[enums.e]\ntype = "int32"\nmembers = [["A"]]\n',
            "a name and its number were expected",
        ),
        (f'{NAMED}sonames = "libx.so"\n', "sonames: a list was expected"),
    ],
)
def test_wrong_settings_are_refused(tmp_path, settings, words):
    (tmp_path / "x.toml").write_text(settings)
    assert words in refusal(tmp_path)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('count = "none"', "f.to: there is no parameter 'none' that says how much memory there is"),
        ('bytes = "4 * none"', "f.to: there is no parameter '4 * none'"),
        (
            'count = "n"',
            "f.to: nothing says how large the elements of a Pointer are: say bytes in place of "
            "count",
        ),
    ],
)
def test_unresolvable_length_is_refused(tmp_path, row, words):
    (tmp_path / "x.h").write_text("int f(void *to, int n);\n")
    (tmp_path / "x.toml").write_text(
        f'{NAMED}headers = ["x.h"]\nfiles = ["/x.h"]\n[parameters]\nf = {{ to = {{ {row} }} }}\n'
    )
    assert words in refusal(tmp_path)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            '[parameters]\ng = { to = "out" }',
            "[parameters] has g.to, and the headers have no such parameter",
        ),
        (
            '[parameters]\n"f*" = { too = "out" }',
            "[parameters] has f*.too, and the headers have no such parameter",
        ),
        (
            'status = "answer"\nsuccess = "FINE"',
            "status is 'answer', and the headers have no such enum",
        ),
        (
            '[enums.other]\nmembers = [["A", 1]]',
            "[enums] has members for other, and the headers have no such enum",
        ),
        (
            '[enums.answers]\ntype = "c_uint"\nmembers = [["A", 1]]',
            "the headers have that enum: leave the type out",
        ),
        (
            '[enums.answers]\nmembers = [["FINE", 1]]',
            "[enums] has answers.FINE, and so have the headers",
        ),
        ('status = "answers"\nsuccess = "FIN"', "success is 'FIN', which is no member of answers"),
        ('files = ["/y.h"]', "the headers declare nothing in the files that `files` names"),
    ],
)
def test_unused_settings_are_refused(tmp_path, settings, words):
    (tmp_path / "x.h").write_text("typedef enum { FINE } answers;\nanswers f(void *to, int n);\n")
    files = "" if "files" in settings else 'files = ["/x.h"]\n'
    (tmp_path / "x.toml").write_text(f'{NAMED}headers = ["x.h"]\n{files}{settings}\n')
    assert words in refusal(tmp_path)


def test_folder_without_option_is_refused(folder):
    command = [
        BINDGEN,
        folder / "boxes.toml",
        folder / "other.json",
        folder / "other.py",
        "include",
    ]
    done = completed(command)
    assert done.returncode == 1
    assert "'include': a folder of headers was expected, as -Iinclude" in done.stderr
