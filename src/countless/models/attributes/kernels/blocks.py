"""The blocks of one attribute: sums of what is left of the matrix over pairs of its clusters, weights integrated out.

``rest`` holds precision times what the other attributes and the bias leave of each pair, ``pull`` the precision of the
pair (zero where it was not observed). A block with pull P and rest S, whose weight is N(m, v), has the log evidence
((m + v S)^2 / (1 + v P) - m^2) / (2 v) - log(1 + v P) / 2 beside an attribute that adds nothing. docs/attributes.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.jit import inner_kernel, kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Pairs(NamedTuple):
    """The matrix as one attribute sees it, and the law of its weights.

    Attributes
    ----------
    rest, pull : arrays (object, object)
        Less the scale; zero on the diagonal, where that means nothing.
    scale : float
        Factor of both: the inverse of the noise, or 1.
    mean, variance : float
        Of a weight.
    directed : bool
        Whether i to j and j to i are two pairs.
    """

    rest: FloatArray
    pull: FloatArray
    scale: float
    mean: float
    variance: float
    directed: bool


class Blocks(NamedTuple):
    """Clusters of one attribute with their blocks; there is room for ``sizes.size`` clusters.

    Attributes
    ----------
    labels : array (object,)
        Cluster of each object, -1 where it does not have the attribute.
    members, place : arrays (object,)
        Objects that have it, and where each of them is listed.
    sizes : array (cluster,)
    pull, rest, value : arrays (cluster, cluster)
        Sums over the pairs of each block, and its log evidence. Those of (c, d) and (d, c) are the same, where pairs
        have no direction.
    into, out_of : arrays (2, cluster)
        Rest and pull of one object towards each cluster, and, for directed pairs, of each cluster towards it.
    """

    labels: IntArray
    members: IntArray
    place: IntArray
    sizes: IntArray
    pull: FloatArray
    rest: FloatArray
    value: FloatArray
    into: FloatArray
    out_of: FloatArray
    log_weights: FloatArray


def empty_blocks(n: int, room: int) -> Blocks:
    """Blocks of an attribute that nobody has, with room for so many clusters."""
    square = np.zeros((3, room, room))
    sides = np.zeros((2, 2, room))
    whole = np.empty((2, n), dtype=np.int64)
    labels = np.full(n, -1, dtype=np.int64)
    sizes = np.zeros(room, dtype=np.int64)
    return Blocks(
        labels, whole[0], whole[1], sizes, square[0], square[1], square[2], sides[0], sides[1], np.empty(room + 2)
    )


@inner_kernel
def block_value(rest, pull, mean, variance):
    """Log evidence of a block with its weight integrated out."""
    shrink = 1.0 + variance * pull
    shifted = mean + variance * rest
    return 0.5 * (shifted * shifted / shrink - mean * mean) / variance - 0.5 * math.log(shrink)


@kernel
def open_blocks(pairs, blocks, n_clusters):
    """List members and add up all blocks of the labels; returns the number of members."""
    labels, members = blocks.labels, blocks.members
    count = 0
    blocks.sizes[:] = 0
    for i in range(labels.size):
        if labels[i] >= 0:
            members[count] = i
            blocks.place[i] = count
            blocks.sizes[labels[i]] += 1
            count += 1
    blocks.rest[:, :] = 0.0
    blocks.pull[:, :] = 0.0
    for a in range(count):
        i = members[a]
        c = labels[i]
        for b in range(count if pairs.directed else a + 1):
            j = members[b]
            d = labels[j]
            blocks.rest[c, d] += pairs.scale * pairs.rest[i, j]
            blocks.pull[c, d] += pairs.scale * pairs.pull[i, j]
    for c in range(n_clusters):
        for d in range(n_clusters if pairs.directed else c):
            if not pairs.directed:
                blocks.rest[c, d] += blocks.rest[d, c]
                blocks.pull[c, d] += blocks.pull[d, c]
                blocks.rest[d, c] = blocks.rest[c, d]
                blocks.pull[d, c] = blocks.pull[c, d]
    value_all(pairs, blocks, n_clusters)
    return count


@inner_kernel
def value_all(pairs, blocks, n_clusters):
    """Evaluate every block; returns the sum over the different ones."""
    total = 0.0
    for c in range(n_clusters):
        for d in range(n_clusters):
            value = block_value(blocks.rest[c, d], blocks.pull[c, d], pairs.mean, pairs.variance)
            blocks.value[c, d] = value
            if pairs.directed or d <= c:
                total += value
    return total


@inner_kernel
def total_value(pairs, blocks, n_clusters):
    """Sum of the log evidences of the different blocks."""
    total = 0.0
    for c in range(n_clusters):
        for d in range(n_clusters if pairs.directed else c + 1):
            total += blocks.value[c, d]
    return total


@inner_kernel
def gather(pairs, blocks, i, n_members, n_clusters):
    """Add up what an object that is no member has with each cluster: linear in the members."""
    for d in range(n_clusters):
        blocks.into[0, d] = 0.0
        blocks.into[1, d] = 0.0
        blocks.out_of[0, d] = 0.0
        blocks.out_of[1, d] = 0.0
    for a in range(n_members):
        j = blocks.members[a]
        d = blocks.labels[j]
        blocks.into[0, d] += pairs.rest[i, j]
        blocks.into[1, d] += pairs.pull[i, j]
        if pairs.directed:
            blocks.out_of[0, d] += pairs.rest[j, i]
            blocks.out_of[1, d] += pairs.pull[j, i]
    for d in range(n_clusters):
        blocks.into[0, d] *= pairs.scale
        blocks.into[1, d] *= pairs.scale
        blocks.out_of[0, d] *= pairs.scale
        blocks.out_of[1, d] *= pairs.scale


@inner_kernel
def gain(pairs, blocks, i, c, n_clusters):
    """What the log evidence gains where an object, after ``gather``, joins a cluster; ``n_clusters`` is a new one."""
    new = c == n_clusters
    total = 0.0
    for d in range(n_clusters):
        if d == c:
            continue
        rest, pull, value = (0.0, 0.0, 0.0) if new else (blocks.rest[c, d], blocks.pull[c, d], blocks.value[c, d])
        total -= value
        total += block_value(rest + blocks.into[0, d], pull + blocks.into[1, d], pairs.mean, pairs.variance)
        if pairs.directed:
            rest, pull, value = (0.0, 0.0, 0.0) if new else (blocks.rest[d, c], blocks.pull[d, c], blocks.value[d, c])
            total -= value
            total += block_value(rest + blocks.out_of[0, d], pull + blocks.out_of[1, d], pairs.mean, pairs.variance)
    rest, pull = pairs.scale * pairs.rest[i, i], pairs.scale * pairs.pull[i, i]
    if not new:
        rest += blocks.rest[c, c] + blocks.into[0, c] + blocks.out_of[0, c]
        pull += blocks.pull[c, c] + blocks.into[1, c] + blocks.out_of[1, c]
        total -= blocks.value[c, c]
    return total + block_value(rest, pull, pairs.mean, pairs.variance)


@inner_kernel
def shift(pairs, blocks, i, c, n_clusters, sign):
    """Add (sign 1) or take away (-1) what an object, after ``gather``, has in the blocks of its cluster."""
    for d in range(n_clusters):
        if d == c:
            continue
        blocks.rest[c, d] += sign * blocks.into[0, d]
        blocks.pull[c, d] += sign * blocks.into[1, d]
        if pairs.directed:
            blocks.rest[d, c] += sign * blocks.out_of[0, d]
            blocks.pull[d, c] += sign * blocks.out_of[1, d]
            blocks.value[d, c] = block_value(blocks.rest[d, c], blocks.pull[d, c], pairs.mean, pairs.variance)
        else:
            blocks.rest[d, c] = blocks.rest[c, d]
            blocks.pull[d, c] = blocks.pull[c, d]
        blocks.value[c, d] = block_value(blocks.rest[c, d], blocks.pull[c, d], pairs.mean, pairs.variance)
        if not pairs.directed:
            blocks.value[d, c] = blocks.value[c, d]
    blocks.rest[c, c] += sign * (blocks.into[0, c] + blocks.out_of[0, c] + pairs.scale * pairs.rest[i, i])
    blocks.pull[c, c] += sign * (blocks.into[1, c] + blocks.out_of[1, c] + pairs.scale * pairs.pull[i, i])
    blocks.value[c, c] = block_value(blocks.rest[c, c], blocks.pull[c, c], pairs.mean, pairs.variance)


@inner_kernel
def put(pairs, blocks, i, c, n_members, n_clusters):
    """Let an object, after ``gather``, join a cluster; returns members and clusters."""
    if c == n_clusters:
        blocks.sizes[c] = 0
        blocks.into[0, c] = 0.0
        blocks.into[1, c] = 0.0
        blocks.out_of[0, c] = 0.0
        blocks.out_of[1, c] = 0.0
        for d in range(n_clusters + 1):
            blocks.rest[c, d] = 0.0
            blocks.rest[d, c] = 0.0
            blocks.pull[c, d] = 0.0
            blocks.pull[d, c] = 0.0
        n_clusters += 1
    shift(pairs, blocks, i, c, n_clusters, 1.0)
    blocks.labels[i] = c
    blocks.sizes[c] += 1
    blocks.members[n_members] = i
    blocks.place[i] = n_members
    return n_members + 1, n_clusters


@inner_kernel
def take(pairs, blocks, i, n_members, n_clusters, keep):
    """Let a member leave, and gather what it has with each cluster; returns members and clusters.

    A cluster that is empty goes, unless clusters are to be kept: the last one takes its number.
    """
    c = blocks.labels[i]
    last = blocks.members[n_members - 1]
    blocks.members[blocks.place[i]] = last
    blocks.place[last] = blocks.place[i]
    n_members -= 1
    blocks.labels[i] = -1
    gather(pairs, blocks, i, n_members, n_clusters)
    shift(pairs, blocks, i, c, n_clusters, -1.0)
    blocks.sizes[c] -= 1
    if blocks.sizes[c] == 0 and not keep:
        n_clusters -= 1
        drop(blocks, c, n_members, n_clusters)
    return n_members, n_clusters


@inner_kernel
def drop(blocks, c, n_members, last):
    """Give the number of an empty cluster to the last one."""
    if c == last:
        return
    for a in range(n_members):
        if blocks.labels[blocks.members[a]] == last:
            blocks.labels[blocks.members[a]] = c
    blocks.sizes[c] = blocks.sizes[last]
    for of in (blocks.rest, blocks.pull, blocks.value):
        for d in range(last):
            of[c, d] = of[last, d]
            of[d, c] = of[d, last]
        of[c, c] = of[last, last]
    for side in (blocks.into, blocks.out_of):
        side[0, c] = side[0, last]
        side[1, c] = side[1, last]


@kernel
def draw_weights(rng, pairs, blocks, n_clusters, weights):
    """Draw the weight of every block given its sums (von Looz 2013, algorithm 7, as corrected)."""
    for c in range(n_clusters):
        for d in range(n_clusters if pairs.directed else c + 1):
            precision = 1.0 / pairs.variance + blocks.pull[c, d]
            mean = (pairs.mean / pairs.variance + blocks.rest[c, d]) / precision
            weights[c, d] = mean + rng.standard_normal() / math.sqrt(precision)
            if not pairs.directed:
                weights[d, c] = weights[c, d]


@kernel
def add_attribute(pairs, labels, weights, sign):
    """Take (sign 1) what an attribute explains out of the rest, or give it back (-1): quadratic in its members."""
    members = np.flatnonzero(labels >= 0)
    for a in range(members.size):
        i = members[a]
        for b in range(members.size):
            j = members[b]
            pairs.rest[i, j] -= sign * pairs.pull[i, j] * weights[labels[i], labels[j]]
