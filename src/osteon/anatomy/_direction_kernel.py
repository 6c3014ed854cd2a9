"""Scans along a take that have to go sample by sample; compiled."""

import numpy as np

from osteon.maths import kernel


@kernel
def windows(directions, moving, step, window, follows):
    """Number the windows of consecutive samples that lie within ``step`` of their first one.

    Fills ``window`` (n,) with −1 for samples that belong to none, and ``follows`` (n,) with
    whether window k goes on where window k − 1 ended. Returns how many there are. This is the
    windowed stratification of [002]: a limb that dwells counts once, and one that comes back
    counts again.
    """
    count, first, open_window = 0, 0, False
    cosine = np.cos(step)
    for i in range(len(directions)):
        if not moving[i]:
            window[i] = -1
            open_window = False
            continue
        if open_window:
            near = 0.0
            for k in range(3):
                near += directions[i, k] * directions[first, k]
            if near >= cosine:
                window[i] = count - 1
                continue
        follows[count] = open_window
        window[i] = count
        first, open_window = i, True
        count += 1
    return count


@kernel
def join_steps(lines, weights, follows, delta, keep, group):
    """Group consecutive steps whose lines lie within ``delta`` of the group's running mean.

    ``keep`` is the share of the old mean that lasts at each step: 1 weighs the whole group alike,
    less follows a line that turns slowly. Lines have no sign. Fills ``group`` (n,), returns the
    number of groups.
    """
    mean = np.zeros(3)
    cosine = np.cos(delta)
    count = 0
    for i in range(len(lines)):
        along = 0.0
        for k in range(3):
            along += mean[k] * lines[i, k]
        length = np.sqrt(mean[0] ** 2 + mean[1] ** 2 + mean[2] ** 2)
        if count == 0 or not follows[i] or abs(along) < cosine * length:
            count += 1
            for k in range(3):
                mean[k] = weights[i] * lines[i, k]
        else:
            sign = -1.0 if along < 0.0 else 1.0
            for k in range(3):
                mean[k] = keep * mean[k] + sign * weights[i] * lines[i, k]
        group[i] = count - 1
    return count


@kernel
def weighted_means(tracks, weights, means):
    """Fill ``means`` (n, k) with sums of tracks (n, k) about each sample, NaN passed over.

    ``weights`` (h + 1,) are those of a sample itself and of its neighbours 1 … h samples away.
    Missing samples stay missing.
    """
    n, half = len(tracks), len(weights) - 1
    for i in range(n):
        for k in range(tracks.shape[1]):
            means[i, k] = weights[0] * tracks[i, k]
        for j in range(max(i - half, 0), min(i + half + 1, n)):
            if j != i and np.isfinite(tracks[j, 0]):
                weight = weights[abs(j - i)]
                for k in range(tracks.shape[1]):
                    means[i, k] += weight * tracks[j, k]
