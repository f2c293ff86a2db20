"""The simulator: a kernel's Python function run by Python, one work-item after the other, under the rules of the compiled one.

``rewrite`` turns the function into one whose barriers are yields, ``arithmetic`` has the types of the language, ``memory``
arrays that see races, ``groups`` the work-items and what they do together, ``operations`` the functions of ``entrepot.kernel``.
"""
