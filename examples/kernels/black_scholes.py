"""Prices of European options by the formula of Black and Scholes."""

from __future__ import annotations

import math

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy

RATE, VOLATILITY = 0.1, 0.2


@dppy.func
def normal_cdf(x):
    return 0.5 + 0.5 * math.erf(x * math.sqrt(0.5))


@dppy.kernel
def black_scholes(price, strike, years, call, put):
    i = dppy.get_global_id(0)
    root = VOLATILITY * math.sqrt(years[i])
    d1 = (math.log(price[i] / strike[i]) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years[i]) / root
    d2 = d1 - root
    discounted = strike[i] * math.exp(-RATE * years[i])
    value = price[i] * normal_cdf(d1) - discounted * normal_cdf(d2)
    call[i] = value
    put[i] = value - price[i] + discounted


def expected_prices(
    price: np.ndarray, strike: np.ndarray, years: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    cdf = np.vectorize(lambda x: 0.5 + 0.5 * math.erf(x * math.sqrt(0.5)))
    root = VOLATILITY * np.sqrt(years)
    d1 = (np.log(price / strike) + (RATE + 0.5 * VOLATILITY**2) * years) / root
    discounted = strike * np.exp(-RATE * years)
    call = price * cdf(d1) - discounted * cdf(d1 - root)
    return call, call - price + discounted


def options(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.uniform(10, 50, count), random.uniform(10, 50, count), random.uniform(1, 2, count)


def check(device: ep.Device, count: int = 10_000) -> None:
    given = options(count)
    call, put = (ep.empty(count, "float64", device=device) for _ in range(2))
    black_scholes[count](*[on(device, each) for each in given], call, put).wait()
    for found, expected in zip((call, put), expected_prices(*given), strict=True):
        np.testing.assert_allclose(values(found), expected, rtol=1e-9, atol=1e-9)


if __name__ == "__main__":
    main(check, str(__doc__))
