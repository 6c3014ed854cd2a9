"""The normal matrix of a tree, damped and solved for 64 frames side by side: LᵀDL from the leaves
to the root, which fills in nothing [Featherstone 2008, ch. 8].

Layout and indices are those of ``normal_equations``. The three rows of a ball joint taken off at
once, in place or out of a copy that interleaves them, took a third longer and more.
"""

from osteon.maths import FAST_MATH, kernel
from osteon.posing._kernels.normal_equations import L, U


@kernel(fastmath=FAST_MATH)
def damp(model, lanes):
    """Levenberg–Marquardt: raise each diagonal entry by its lane's share, and a little more.

    The little more keeps directions that no marker sees where they are.
    """
    normal, share = lanes.normal, lanes.damping
    for dof in range(U(len(model.dof_body))):
        diagonal = (model.row_start[dof] + model.dof_depth[dof]) * L
        for n in range(L):
            normal[diagonal + n] += share[n] * normal[diagonal + n] + 1e-10 + model.stiffness[dof]


@kernel(fastmath=FAST_MATH)
def factor(model, lanes):
    """Normal matrix to LᵀDL in place, from the leaves to the root; 1/D stands on the diagonal.

    The step is taken along: Lᵀ is undone on the way.
    """
    normal, step, share = lanes.normal, lanes.step, lanes.scratch
    n_dofs = U(len(model.dof_body))
    for up in range(U(1), n_dofs + U(1)):
        dof = n_dofs - up
        start, depth = model.row_start[dof], model.dof_depth[dof]
        diagonal, row, own = (start + depth) * L, start * L, dof * L
        for n in range(L):
            normal[diagonal + n] = 1.0 / normal[diagonal + n]
        for climb in range(U(1), depth + U(1)):
            k = depth - climb
            above, entry = model.path[start + k], (start + k) * L
            for n in range(L):
                share[n] = normal[entry + n] * normal[diagonal + n]
            target = model.row_start[above] * L
            for j in range(k + U(1)):
                _subtract(share, normal, row + j * L, normal, target + j * L)
            _subtract(share, step, own, step, above * L)
            for n in range(L):
                normal[entry + n] = share[n]


@kernel(fastmath=FAST_MATH)
def _subtract(share, source, s, target, t):
    for n in range(L):
        target[t + n] -= share[n] * source[s + n]


@kernel(fastmath=FAST_MATH)
def substitute(model, lanes):
    """Undo D and L: the gradient has become the step."""
    normal, step = lanes.normal, lanes.step
    for dof in range(U(len(model.dof_body))):
        start, depth, own = model.row_start[dof], model.dof_depth[dof], dof * L
        diagonal = (start + depth) * L
        for n in range(L):
            step[own + n] *= normal[diagonal + n]
        for entry in range(start, start + depth):
            e, s = entry * L, model.path[entry] * L
            for n in range(L):
                step[own + n] -= normal[e + n] * step[s + n]
