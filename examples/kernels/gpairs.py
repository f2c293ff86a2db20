"""Galaxy pairs: the weights of all pairs of points, summed by the distance that lies between
them.
"""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def weighted_pairs(first, second, edges_squared, histogram):
    """Rows of ``first`` and ``second`` are x, y, z and a weight; pairs between edge k and edge k +
    1 go to k.
    """
    i = dppy.get_global_id(0)
    bins = edges_squared.shape[0] - 1
    for j in range(second.shape[0]):
        dx = first[i, 0] - second[j, 0]
        dy = first[i, 1] - second[j, 1]
        dz = first[i, 2] - second[j, 2]
        squared = dx * dx + dy * dy + dz * dz
        for k in range(bins):
            if edges_squared[k] <= squared and squared < edges_squared[k + 1]:
                dppy.atomic.add(histogram, k, first[i, 3] * second[j, 3])


def check(device: ep.Device, count: int = 200, bins: int = 10) -> None:
    random = np.random.default_rng(0)
    first, second = random.random((count, 4)), random.random((count, 4))
    edges = np.linspace(0.05, 1.0, bins + 1)
    histogram = ep.zeros(bins, "float64", device=device)
    weighted_pairs[count](
        on(device, first), on(device, second), on(device, edges**2), histogram
    ).wait()
    squared = ((first[:, None, :3] - second[None, :, :3]) ** 2).sum(axis=-1)
    weights = np.outer(first[:, 3], second[:, 3])
    expected = [
        weights[(low <= squared) & (squared < high)].sum()
        for low, high in zip(edges[:-1] ** 2, edges[1:] ** 2, strict=True)
    ]
    np.testing.assert_allclose(values(histogram), expected, rtol=1e-9)


if __name__ == "__main__":
    main(check, str(__doc__))
