"""The simulator: runs a kernel in Python, one work-item after the other, with the semantics of
compiled code.

- ``rewrite`` turns the function into one whose barriers are yields
- ``arithmetic`` has the types of the language
- ``memory`` has arrays that detect races
- ``groups`` has work-items and group operations
- ``operations`` has the functions of ``entrepot.kernel``
"""
