"""Particles that attract each other, as structs: a step of an n-body simulation, with local
memory of structs and short vectors.
"""

from __future__ import annotations

import numpy as np
from example import main

import entrepot as ep
import entrepot.kernel as dppy

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4")])
PARTICLE = np.dtype([("position", POINT), ("velocity", POINT), ("mass", "f4")])
SOURCE = np.dtype([("position", POINT), ("mass", "f4")])
GROUP = 64
SOFTENING = 1e-2


@dppy.func
def attraction(here, other, mass):
    way = other - here
    square = dppy.dot(way, way) + SOFTENING
    return way * (mass / (square * square**0.5))


@dppy.kernel
def accelerate(particles, step):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    others = dppy.local.array(GROUP, SOURCE)
    here = dppy.float3(particles[i].position)
    acceleration = dppy.float3(0)
    for first in range(0, len(particles), GROUP):
        source = particles[first + own]
        others[own] = (source.position, source.mass)
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        for k in range(GROUP):
            other = others[k]
            acceleration += attraction(here, dppy.float3(other.position), other.mass)
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    velocity = particles[i].velocity
    velocity.x += acceleration.x * step
    velocity.y += acceleration.y * step
    velocity.z += acceleration.z * step


@dppy.kernel
def move(particles, step):
    p = particles[dppy.get_global_id(0)]
    moved = dppy.float3(p.position) + dppy.float3(p.velocity) * step
    p.position = (moved.x, moved.y, moved.z)


def simulate(device: ep.Device, particles: np.ndarray, step: float, steps: int) -> np.ndarray:
    moving = dppy.StructArray.to_device(particles, device)
    for _ in range(steps):
        accelerate[len(particles), GROUP](moving, np.float32(step))
        move[len(particles)](moving, np.float32(step))
    after: np.ndarray = moving.copy_to_host()
    return after


def expected_particles(particles: np.ndarray, step: float, steps: int) -> np.ndarray:
    after = particles.copy()
    places = np.stack([particles["position"][axis] for axis in "xyz"], axis=1).astype("f8")
    speeds = np.stack([particles["velocity"][axis] for axis in "xyz"], axis=1).astype("f8")
    for _ in range(steps):
        ways = places[None] - places[:, None]
        squares = (ways**2).sum(axis=-1) + SOFTENING
        speeds += step * (ways * (particles["mass"] / squares**1.5)[..., None]).sum(axis=1)
        places += step * speeds
    for k, axis in enumerate("xyz"):
        after["position"][axis], after["velocity"][axis] = places[:, k], speeds[:, k]
    return after


def check(device: ep.Device, count: int = 4 * GROUP, step: float = 1e-3, steps: int = 3) -> None:
    random = np.random.default_rng(0)
    particles = np.zeros(count, PARTICLE)
    for axis in "xyz":
        particles["position"][axis] = random.random(count)
    particles["mass"] = random.random(count)
    found = simulate(device, particles, step, steps)
    expected = expected_particles(particles, step, steps)
    for field in ("position", "velocity"):
        for axis in "xyz":
            np.testing.assert_allclose(
                found[field][axis], expected[field][axis], rtol=1e-3, atol=1e-4
            )


if __name__ == "__main__":
    main(check, str(__doc__))
