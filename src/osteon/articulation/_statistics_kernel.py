"""Kernels for the Gram matrix of many moving frames: packing, self terms, one frame at a time.

A pose is the 3×4 block ``[R | t]``; a frame of ``n_bodies`` poses is three rows of ``4 n_bodies``
columns. A body that is not seen leaves a block of zeros, so it adds nothing to any product.
"""

import numpy as np

from osteon.maths import kernel


@kernel
def pack(positions, rotations, rows, seen):
    """Write poses (n, m, 3) and (n, m, 4) as ``rows`` (3n, 4m); note who was ``seen`` (n, m).

    Each frame is moved by the mean place of its bodies: only differences of places matter, and
    far from the origin the products would lose digits.
    """
    n_frames, n_bodies = positions.shape[:2]
    for k in range(n_frames):
        cx, cy, cz, n_seen = 0.0, 0.0, 0.0, 0
        for i in range(n_bodies):
            there = not np.isnan(positions[k, i, 0] + rotations[k, i, 0])
            seen[k, i] = 1.0 if there else 0.0
            if there:
                cx += positions[k, i, 0]
                cy += positions[k, i, 1]
                cz += positions[k, i, 2]
                n_seen += 1
        if n_seen > 0:
            cx, cy, cz = cx / n_seen, cy / n_seen, cz / n_seen
        x_row, y_row, z_row = rows[3 * k], rows[3 * k + 1], rows[3 * k + 2]
        for i in range(n_bodies):
            col = 4 * i
            if seen[k, i] == 0.0:
                x_row[col : col + 4] = 0.0
                y_row[col : col + 4] = 0.0
                z_row[col : col + 4] = 0.0
                continue
            w, x, y, z = rotations[k, i]
            x_row[col] = 1 - 2 * (y * y + z * z)
            x_row[col + 1] = 2 * (x * y - w * z)
            x_row[col + 2] = 2 * (x * z + w * y)
            x_row[col + 3] = positions[k, i, 0] - cx
            y_row[col] = 2 * (x * y + w * z)
            y_row[col + 1] = 1 - 2 * (x * x + z * z)
            y_row[col + 2] = 2 * (y * z - w * x)
            y_row[col + 3] = positions[k, i, 1] - cy
            z_row[col] = 2 * (x * z - w * y)
            z_row[col + 1] = 2 * (y * z + w * x)
            z_row[col + 2] = 1 - 2 * (x * x + y * y)
            z_row[col + 3] = positions[k, i, 2] - cz


@kernel
def self_products(rows, products):
    """Every pose with itself, ``[R t]ᵀ[R t]``, as ``products`` (n, 16 m)."""
    n_frames, n_bodies = products.shape[0], products.shape[1] // 16
    for k in range(n_frames):
        for i in range(n_bodies):
            for a in range(4):
                for b in range(4):
                    total = 0.0
                    for r in range(3):
                        total += rows[3 * k + r, 4 * i + a] * rows[3 * k + r, 4 * i + b]
                    products[k, 16 * i + 4 * a + b] = total


@kernel
def add_frame(gram, own, count, rows, seen):
    """Add one packed frame: ``rows`` (3, 4m), ``seen`` (1, m)."""
    n_bodies = seen.shape[1]
    for p in range(4 * n_bodies):
        a, b, c = rows[0, p], rows[1, p], rows[2, p]
        for q in range(4 * n_bodies):
            gram[p, q] += a * rows[0, q] + b * rows[1, q] + c * rows[2, q]
    for i in range(n_bodies):
        for a in range(4):
            for b in range(4):
                total = 0.0
                for r in range(3):
                    total += rows[r, 4 * i + a] * rows[r, 4 * i + b]
                for j in range(n_bodies):
                    own[i, j, a, b] += seen[0, j] * total
        for j in range(n_bodies):
            count[i, j] += seen[0, i] * seen[0, j]
