"""Uses an adapter type of a Cython extension, and its function that takes any adapter."""

import array

from adapter_cython import Named, Pair, total

from entrepot.adapters import ListOfPointer, Pointer

pair = Pair(1.5, 2.5)
print(total(pair, 2), total(array.array("d", [1, 2, 3]), 3))

# Made of memory, an adapter is a view of it.
cells = array.array("d", [3, 4])
print(Pair(cells).x, Pair(cells).y, Pair(pair).y)

# Any binding accepts it as a pointer.
print(int(Pointer(pair)) == int(pair), ListOfPointer([pair, None]).to_list()[0] == pair)
print(
    Named(pair, "pair").configure(typestr="f8", shape=2, _force=True)[1:].shape,
    Named(None, "nothing").name,
)
