"""Whole paths in rescaled probabilities: forward messages, and what is drawn, smoothed or maximised on the way back.

Rabiner 1989, *A tutorial on hidden Markov models*; O(T K^2). ``scores`` are log densities (step, state), ``start`` and
``transition`` probabilities that need not add up to one. With ``slices`` a step may only use a transition whose
probability is above the slice of the step (Van Gael, Saatci, Teh and Ghahramani 2008); empty for none.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import inner_kernel, kernel

# Total below which a step is done again in logs.
TINY = 1e-250
NO_SLICES = NOBODY = np.empty(0)


@inner_kernel
def _in_logs(scores, t, predicted, room):
    """The filtered probabilities of a step where no product is a number; returns the log of their total."""
    n = predicted.size
    largest = -math.inf
    for k in range(n):
        room[k] = scores[t, k] + (math.log(predicted[k]) if predicted[k] > 0.0 else -math.inf)
        largest = max(largest, room[k])
    if largest == -math.inf:
        # Impossible: what was predicted is kept.
        total = 0.0
        for k in range(n):
            total += predicted[k]
        for k in range(n):
            scores[t, k] = predicted[k] / total if total > 0.0 else 1.0 / n
        return -math.inf
    total = 0.0
    for k in range(n):
        room[k] = math.exp(room[k] - largest)
        total += room[k]
    for k in range(n):
        scores[t, k] = room[k] / total
    return largest + math.log(total)


@kernel
def forward(scores, first, start, transition, slices, each):
    """Filtered probabilities of the states, in place of ``scores``; returns the log density of all steps.

    ``each`` takes the log density of each step given those before it; empty where nobody asks.
    """
    n_steps, n = scores.shape
    predicted = np.empty(n)
    room = np.empty(n)
    log_total = 0.0
    product = 1.0
    sliced = slices.size > 0
    for t in range(n_steps):
        if first[t]:
            for k in range(n):
                predicted[k] = start[k]
                if sliced:
                    predicted[k] = 1.0 if start[k] > slices[t] else 0.0
        else:
            for k in range(n):
                predicted[k] = 0.0
            for j in range(n):
                before = scores[t - 1, j]
                if before > 0.0:
                    if sliced:
                        for k in range(n):
                            if transition[j, k] > slices[t]:
                                predicted[k] += before
                    else:
                        for k in range(n):
                            predicted[k] += before * transition[j, k]
        largest = -math.inf
        for k in range(n):
            if scores[t, k] > largest and predicted[k] > 0.0:
                largest = scores[t, k]
        total = 0.0
        for k in range(n):
            room[k] = predicted[k] * math.exp(scores[t, k] - largest) if predicted[k] > 0.0 else 0.0
            total += room[k]
        if not total > TINY:
            value = _in_logs(scores, t, predicted, room)
            log_total += value
            if each.size:
                each[t] = value
            continue
        inverse = 1.0 / total
        for k in range(n):
            scores[t, k] = room[k] * inverse
        if each.size:
            each[t] = largest + math.log(total)
        log_total += largest
        product *= total
        if product > 1e250 or product < 1e-250 or total < 1e-40 or total > 1e40:
            log_total += math.log(product)
            product = 1.0
    return log_total + math.log(product)


@kernel
def draw_path(rng, filtered, first, transition, slices, labels):
    """A path drawn backwards, given filtered probabilities."""
    n_steps, n = filtered.shape
    weights = np.empty(n)
    into = transition.T.copy()
    sliced = slices.size > 0
    for back in range(n_steps):
        t = n_steps - 1 - back
        total = 0.0
        if t == n_steps - 1 or first[t + 1]:
            for j in range(n):
                total += filtered[t, j]
                weights[j] = total
        else:
            after = labels[t + 1]
            for j in range(n):
                if sliced:
                    if into[after, j] > slices[t + 1]:
                        total += filtered[t, j]
                else:
                    total += filtered[t, j] * into[after, j]
                weights[j] = total
        threshold = rng.random() * total
        chosen = 0
        while chosen < n - 1 and threshold >= weights[chosen]:
            chosen += 1
        labels[t] = chosen


@kernel
def smooth(filtered, first, transition, expected):
    """Smoothed probabilities in place of filtered ones; adds expected numbers of transitions to ``expected``."""
    n_steps, n = filtered.shape
    predicted = np.empty(n)
    ratio = np.empty(n)
    for back in range(1, n_steps):
        t = n_steps - 1 - back
        if first[t + 1]:
            continue
        for k in range(n):
            predicted[k] = 0.0
        for j in range(n):
            for k in range(n):
                predicted[k] += filtered[t, j] * transition[j, k]
        for k in range(n):
            ratio[k] = filtered[t + 1, k] / predicted[k] if predicted[k] > 0.0 else 0.0
        for j in range(n):
            here = filtered[t, j]
            if here > 0.0:
                total = 0.0
                for k in range(n):
                    both = here * transition[j, k] * ratio[k]
                    expected[j, k] += both
                    total += both
                filtered[t, j] = total


@kernel
def best_path(scores, first, log_start, log_transition, labels):
    """The most probable path (Viterbi 1967); returns its log density."""
    n_steps, n = scores.shape
    came = np.zeros((n_steps, n), dtype=np.int32)
    value = np.empty(n)
    after = np.empty(n)
    total = 0.0
    for t in range(n_steps):
        if first[t]:
            if t > 0:
                total += value.max()
            for k in range(n):
                value[k] = log_start[k] + scores[t, k]
        else:
            for k in range(n):
                after[k] = -math.inf
            for j in range(n):
                for k in range(n):
                    trial = value[j] + log_transition[j, k]
                    if trial > after[k]:
                        after[k] = trial
                        came[t, k] = j
            for k in range(n):
                value[k] = after[k] + scores[t, k]
        labels[t] = np.argmax(value)
    total += value.max()
    # ``labels`` hold the best last state of each step so far; only those at the ends of sequences are final.
    for back in range(n_steps):
        t = n_steps - 1 - back
        if t == n_steps - 1 or first[t + 1]:
            continue
        labels[t] = came[t + 1, labels[t + 1]]
    return total
