"""Joints, hierarchy and trust from moving bodies: the stage as one function."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from osteon.articulation import hierarchy
from osteon.articulation.body_source import PoseNoise, cluster_noise, estimate_noise
from osteon.articulation.centre import (
    Link,
    PairFits,
    fit_pairs,
    joint_distances,
    products_of_frames,
    residual_vectors,
)
from osteon.articulation.finish import FinishedJoint, finish_joints, fit_with_skin
from osteon.articulation.hierarchy import FINEST, fit_looseness, is_free, spread_of_bodies
from osteon.articulation.holds import HoldSearch, given_closures, held
from osteon.articulation.loops import (
    Closure,
    as_attachment,
    as_loop,
    cut_rings,
    find_loops,
    tell_twins_apart,
)
from osteon.articulation.requirements import (
    MIN_FRAMES,
    advise,
    check_bodies,
    check_motion,
    impossible_poses,
    without_poses,
)
from osteon.articulation.segmentation import TrackedBodies, track
from osteon.articulation.slips import (
    MOST_SLIPS,
    SlipStep,
    as_event,
    find_slip,
    smallest_slips,
    undo_slip,
)
from osteon.articulation.statistics import JointStatistics
from osteon.articulation.subjects import groups_of, hang_apart
from osteon.cleaning import without_displaced
from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.maths import quat
from osteon.threads import one_thread
from osteon.typing import Array
from osteon.values import Bodies, Connection, Joints, Loop, Recording

MOST_FLIPS = 3
"""Rounds of leaving out impossible poses; each lets the next see smaller ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A hierarchy and the evidence for it."""

    bodies: Bodies
    noise: PoseNoise
    fits: PairFits
    products: Array
    tree: hierarchy.BodyTree
    order: list[tuple[int, int, int]]
    """(parent, child, row of fits), from the root outwards."""
    root: int


class GroupJoint(NamedTuple):
    """The joint of two groups of markers, in frames of their own."""

    joint: FinishedJoint
    parent: Array
    """(n_markers, 3) the parent's markers in its frame, metres."""
    child: Array
    """(n_markers, 3) the child's."""
    noise: tuple[float, float]
    """Standard deviation per axis of a marker about its body, of parent and child, metres."""


@one_thread()
def joints(
    bodies: Bodies,
    *,
    root: str | None = None,
    parents: Mapping[str, str] | None = None,
    noise: PoseNoise | None = None,
    loops: Sequence[Loop] = (),
    robust: bool = False,
) -> Joints:
    """Find the joints between moving bodies, and which bodies they join.

    Parameters
    ----------
    root
        Body to start from; by default the most central one.
    parents
        Known hierarchy, ``{child: parent}``; by default it is found.
    noise
        White noise of the poses; by default judged from the trajectories.
    loops
        Known loops: their bodies and frames are kept, the points are found; those that do not
        close in this take are left out, with a warning. Others are still looked for.
    robust
        Weigh frames by Huber's rule in the last step.
    """
    bodies, warnings = check_bodies(bodies)
    if root is not None and root not in bodies.names:
        raise UnknownName("body", root, bodies.names)
    solution, slips, visible = _settled(bodies, root=root, parents=parents, noise=noise)
    if parents is None:
        solution = _with_rings_cut(solution, root)
        solution = _with_twins_apart(solution, _loops(solution, _spread(solution)), root)
    spread = _spread(solution)
    given, open_loops = given_closures(solution.bodies, solution.noise, loops)
    closures = _loops(solution, spread, given)
    attachments = sorted(
        [*held(closures, solution.bodies), *_attachments(solution, spread, closures)],
        key=lambda closure: closure.frames,
    )
    closures = [each for each in closures if each not in attachments]
    if parents is None:
        solution = _without_loops(solution, closures)
        solution = _with_subjects_apart(solution, attachments, root)
    bodies = solution.bodies
    finished = finish_joints(bodies, solution.noise, solution.fits, solution.order, robust=robust)
    connections = [_connection(solution, joint) for joint in finished]
    return Joints(
        root=bodies.names[solution.root],
        connections=tuple(connections),
        looseness=dict(zip(bodies.names, np.sqrt(spread).tolist(), strict=True)),
        visible_slips=visible,
        residuals=_distances(bodies, connections),
        rate=bodies.rate,
        loops=tuple(as_loop(bodies, closure) for closure in (*closures, *attachments)),
        events=(
            *(as_event(bodies, slip) for slip in slips),
            *(as_attachment(bodies, closure) for closure in attachments),
        ),
        advice=advise(bodies, tuple(connections)),
        warnings=(*warnings, *open_loops, *_warnings(connections, attachments, bodies.names)),
        subject=bodies.subject,
        history=(*bodies.history, "joints from motion"),
    )


def joints_of_groups(
    recording: Recording, groups: Sequence[Sequence[str]], pairs: Sequence[tuple[int, int]]
) -> list[GroupJoint | None]:
    """Find the joints of these pairs (parent, child) of marker groups; None where a group shows no
    orientation, or both are hardly seen together."""
    tracked = track(without_displaced(recording, groups), groups)
    place = {markers: column for column, markers in enumerate(tracked.markers)}
    columns = [place.get(tuple(group)) for group in groups]
    seen = tracked.bodies.seen
    asked, order = [], []
    for k, (parent, child) in enumerate(pairs):
        one, other = columns[parent], columns[child]
        if one is None or other is None or (seen[:, one] & seen[:, other]).sum() < MIN_FRAMES:
            continue
        order.append((one, other, len(asked)))
        asked.append(k)
    found: list[GroupJoint | None] = [None] * len(pairs)
    if asked:
        noise = cluster_noise(tracked)
        ends = [(child, parent) for parent, child, _ in order]
        fits = fit_pairs(JointStatistics.of(tracked.bodies), noise, ends)
        for k, joint in zip(asked, finish_joints(tracked.bodies, noise, fits, order), strict=True):
            found[k] = _group_joint(tracked, joint)
    return found


def _group_joint(tracked: TrackedBodies, joint: FinishedJoint) -> GroupJoint:
    parent, child = joint.parent, joint.child
    noise = float(tracked.marker_noise[parent]), float(tracked.marker_noise[child])
    return GroupJoint(joint, tracked.templates[parent], tracked.templates[child], noise)


def _settled(
    bodies: Bodies,
    *,
    root: str | None,
    parents: Mapping[str, str] | None,
    noise: PoseNoise | None,
) -> tuple[Solution, list[SlipStep], dict[str, float]]:
    """Solve, leave out impossible poses, undo slips, until nothing is left to do.

    The last value is the size in metres from which a slip of each body would have been seen.
    """
    slips: list[SlipStep] = []
    solution = solve(bodies, root=root, parents=parents, noise=noise)
    for _ in range(MOST_FLIPS):
        # also edges that seem to be no joints: an impossible pose may be why
        links = [solution.fits.link(row) for _, _, row in solution.order]
        ends = np.array([(link.first, link.second) for link in links])
        hidden = impossible_poses(ends, _apart(solution.bodies, links), bodies.n_bodies)
        if not hidden.any():
            break
        did = f"left out {int(hidden.sum())} impossible poses"
        bodies = without_poses(solution.bodies, hidden, did)
        solution = solve(bodies, root=root, parents=parents, noise=noise)
    step, view = _first_slip(solution)
    while step is not None and len(slips) < MOST_SLIPS:
        slips.append(step)
        bodies = undo_slip(solution.bodies, step)
        solution = solve(bodies, root=root, parents=parents, noise=noise)
        step, view = _first_slip(solution)
    return solution, sorted(slips, key=lambda step: step.frame), smallest_slips(*view)


def _first_slip(solution: Solution) -> tuple[SlipStep | None, tuple[Bodies, list[Link]]]:
    """A slip, if one shows, and the bodies and joints that were looked at last."""
    step, view = None, (solution.bodies, _links(solution))
    for view in _views(solution):
        step = find_slip(*view)
        if step is not None:
            break
    return step, view


def _views(solution: Solution) -> Iterator[tuple[Bodies, list[Link]]]:
    """The take as it is, then without the skin that follows the postures, where it shows."""
    yield solution.bodies, _links(solution)
    skin = fit_with_skin(solution.bodies, solution.noise, solution.fits, solution.order)
    if skin is not None:
        ends = [(child, parent) for parent, child, _ in solution.order]
        fits = zip(ends, skin.fits, strict=True)
        yield skin.bodies, [Link(*pair, fit.centres) for pair, fit in fits if fit is not None]


def _links(solution: Solution) -> list[Link]:
    """The joints of the tree; edges that are none say nothing of slips or loops."""
    fits = solution.fits
    rows = [row for _, _, row in solution.order]
    return [fits.link(row) for row in rows if not is_free(float(fits.mean_square[row]))]


def _apart(bodies: Bodies, links: list[Link]) -> Array:
    """(n_frames, n_links) residual of every joint, metres."""
    vectors = [residual_vectors(bodies, (k.first, k.second), k.centres) for k in links]
    return np.linalg.norm(np.stack(vectors, axis=1), axis=-1)


def _spread(solution: Solution) -> Array:
    """(n_bodies,) mean square that each sensor's looseness adds to its joints."""
    fits, edges, n_bodies = solution.fits, solution.tree.edges, solution.bodies.n_bodies
    looseness = fit_looseness(solution.products, fits, edges, n_bodies)
    return spread_of_bodies(looseness, fits, n_bodies)


def _with_rings_cut(solution: Solution, root: str | None) -> Solution:
    bodies, fits = solution.bodies, solution.fits
    edges = cut_rings(bodies, fits, solution.products, solution.tree.edges, _spread(solution))
    return _with_edges(solution, edges, root)


def _with_twins_apart(solution: Solution, loops: list[Closure], root: str | None) -> Solution:
    rows = _rows_of(solution.fits, loops)
    edges = tell_twins_apart(solution.fits, solution.products, solution.tree.edges, rows)
    return _with_edges(solution, edges, root)


def _with_edges(solution: Solution, edges: list[int], root: str | None) -> Solution:
    if tuple(edges) == solution.tree.edges:
        return solution
    bodies, fits = solution.bodies, solution.fits
    tree = hierarchy.judged(solution.products, fits, edges, bodies.n_bodies)
    start = _root(bodies, fits, tree, root, None)
    order = hierarchy.parents_from(fits.first, fits.second, tree.edges, start)
    return replace(solution, tree=tree, order=order, root=start)


def _rows_of(fits: PairFits, loops: list[Closure]) -> list[int]:
    row_of = fits.row_of()
    return sorted({row_of[frozenset(loop.pair)] for loop in loops})


def _without_loops(solution: Solution, loops: list[Closure]) -> Solution:
    """A loop's joint is told as such; it does not put the ring's other joints in doubt."""
    if not loops:
        return solution
    fits, n_bodies = solution.fits, solution.bodies.n_bodies
    rows, edges = _rows_of(fits, loops), list(solution.tree.edges)
    tree = hierarchy.judged(solution.products, fits, edges, n_bodies, without=rows)
    return replace(solution, tree=tree)


def _with_subjects_apart(solution: Solution, holds: list[Closure], root: str | None) -> Solution:
    """Edges that are no joints lead from subject to subject, and from holders to things."""
    bodies, fits, tree = solution.bodies, solution.fits, solution.tree
    joints = [edge for edge in tree.edges if not is_free(float(fits.mean_square[edge]))]
    if not joints and not holds:
        raise NotEnoughData(_tell_all_free(bodies, fits))
    if len(joints) == len(tree.edges):
        return solution
    holders: dict[int, int] = {}
    for hold in sorted(holds, key=lambda hold: hold.frames[1] - hold.frames[0]):
        holders |= {hold.pair[0]: hold.pair[1], hold.pair[1]: hold.pair[0]}
    start = None if root is None else bodies.index(root)
    edges, order, start = hang_apart(fits, tree.edges, _travel(bodies), holders, start)
    known = {edge: place for place, edge in enumerate(tree.edges) if edge in joints}
    margins, bare = np.full((2, len(edges)), np.inf)
    for place, edge in enumerate(edges):
        if edge in known:
            margins[place], bare[place] = tree.margins[known[edge]], tree.bare[known[edge]]
    rivals = tuple(tree.rivals[known[edge]] if edge in known else -1 for edge in edges)
    tree = hierarchy.BodyTree(tuple(edges), margins, bare, rivals)
    return replace(solution, tree=tree, order=order, root=start)


def _tell_all_free(bodies: Bodies, fits: PairFits) -> str:
    nearest = int(np.nanargmin(fits.mean_square))
    one, other = (bodies.names[body] for body in fits.pair(nearest))
    apart = 100 * float(np.sqrt(fits.mean_square[nearest]))
    return (
        f"no two of the {bodies.n_bodies} bodies share a joint: even {one} and {other} miss each "
        f"other by {apart:.0f} cm; are these sensors on limbs of one performer, in metres, with "
        "orientations to the world?"
    )


def _joined(solution: Solution) -> set[frozenset[int]]:
    """The pairs of bodies that the tree joins by a point they do share."""
    return {
        frozenset((parent, child))
        for parent, child, row in solution.order
        if not is_free(solution.fits.mean_square[row])
    }


def _loops(solution: Solution, spread: Array, given: Sequence[Closure] = ()) -> list[Closure]:
    """Loop joints, those given first: of the whole take, unless they were given for a part."""
    tree, skip = _links(solution), _joined(solution) | {frozenset(one.pair) for one in given}
    return [*given, *find_loops(solution.bodies, solution.fits, tree, spread, skip)]


def _attachments(solution: Solution, spread: Array, loops: list[Closure]) -> list[Closure]:
    """Joints of a part of the take."""
    bodies, fits = solution.bodies, solution.fits
    known = _joined(solution) | {frozenset(loop.pair) for loop in loops}
    groups, depth = np.zeros((2, bodies.n_bodies))
    steps = hierarchy.steps_between(fits.first, fits.second, solution.tree.edges, bodies.n_bodies)
    for number, group in enumerate(groups_of(fits, solution.tree.edges, bodies.n_bodies)):
        groups[group] = number
        depth[group] = steps[group[int(np.argmin(steps[np.ix_(group, group)].max(axis=1)))], group]
    doubts = zip(solution.tree.edges, hierarchy.in_doubt(solution.tree, fits), strict=True)
    doubtful = frozenset(frozenset(fits.pair(edge)) for edge, doubt in doubts if doubt)
    links = _links(solution)
    search = HoldSearch(bodies, links, spread, solution.noise, groups, depth, doubtful)
    return search.find(known, loops)


def solve(
    bodies: Bodies,
    *,
    root: str | None = None,
    parents: Mapping[str, str] | None = None,
    noise: PoseNoise | None = None,
) -> Solution:
    """Fit every pair and choose the tree."""
    noise = estimate_noise(bodies) if noise is None else noise
    statistics = JointStatistics.of(bodies)
    fits = fit_pairs(statistics, noise)
    check_motion(bodies, fits)
    if bodies.seen.all():
        products = hierarchy.residual_products(statistics, fits)
    else:
        products = products_of_frames(bodies, fits)
    never = ~np.isfinite(fits.mean_square)
    products[never] = products[:, never] = 0.0
    products[never, never] = 1e6
    products += FINEST**2 * np.eye(len(products))
    tree = (
        hierarchy.best_tree(products, fits, bodies.n_bodies)
        if parents is None
        else _given_tree(bodies, fits, parents)
    )
    start = _root(bodies, fits, tree, root, parents)
    order = hierarchy.parents_from(fits.first, fits.second, tree.edges, start)
    return Solution(bodies, noise, fits, products, tree, order, start)


def _given_tree(bodies: Bodies, fits: PairFits, parents: Mapping[str, str]) -> hierarchy.BodyTree:
    rows = fits.row_of()
    edges = [
        rows[frozenset((bodies.index(child), bodies.index(parent)))]
        for child, parent in parents.items()
    ]
    if len(set(edges)) != bodies.n_bodies - 1:
        raise BadValue(
            f"a hierarchy of {bodies.n_bodies} bodies has {bodies.n_bodies - 1} joints, "
            f"got {len(set(edges))}: name one parent for every body but the root"
        )
    clear = np.full(len(edges), np.inf)
    return hierarchy.BodyTree(tuple(edges), clear, clear, (-1,) * len(edges))


def _root(
    bodies: Bodies,
    fits: PairFits,
    tree: hierarchy.BodyTree,
    root: str | None,
    parents: Mapping[str, str] | None,
) -> int:
    if root is not None:
        return bodies.index(root)
    if parents is not None:
        return next(i for i, name in enumerate(bodies.names) if name not in parents)
    return hierarchy.central_body(
        fits.first, fits.second, tree.edges, range(bodies.n_bodies), _travel(bodies)
    )


def _travel(bodies: Bodies) -> Array:
    """(n_bodies,) how much each turns from frame to frame, radians."""
    steps = quat.angle(quat.between(bodies.rotations[:-1], bodies.rotations[1:]))
    return np.nanmean(np.where(np.isfinite(steps), steps, np.nan), axis=0)


def _connection(solution: Solution, joint: FinishedJoint) -> Connection:
    """A finished joint with its place in the hierarchy."""
    bodies, fits, tree = solution.bodies, solution.fits, solution.tree
    misfit = residual_vectors(bodies, (joint.child, joint.parent), joint.centres)
    rms = float(np.sqrt(np.nanmean(np.sum(misfit**2, axis=-1))))
    place = tree.edges.index(joint.row)
    rival = tree.rivals[place]
    names, hinge = bodies.names, joint.kind == "hinge"
    return Connection(
        parent=names[joint.parent],
        child=names[joint.child],
        in_parent=joint.centres[3:],
        in_child=joint.centres[:3],
        covariance=joint.covariance,
        rms=rms,
        # by the fit that the tree was chosen by: a finished place may leave more, skin taken off
        kind="free" if is_free(float(fits.mean_square[joint.row])) else joint.kind,
        axis_in_parent=joint.axes[1] if hinge else None,
        axis_in_child=joint.axes[0] if hinge else None,
        margin=max(float(min(tree.margins[place], tree.bare[place])), 0.0),
        rival=None if rival < 0 else (names[fits.first[rival]], names[fits.second[rival]]),
        ambiguous=bool(hierarchy.in_doubt(tree, fits)[place]),
    )


def _distances(bodies: Bodies, connections: list[Connection]) -> Array:
    columns = [
        joint_distances(bodies, link.child, link.parent, link.in_child, link.in_parent)
        for link in connections
    ]
    return np.stack(columns, axis=-1)


def _warnings(
    connections: list[Connection], holds: list[Closure], names: tuple[str, ...]
) -> list[str]:
    """Joints in doubt, and bodies that belong to nobody: no subject, and held by none."""
    placed = {name for k in connections if k.kind != "free" for name in (k.parent, k.child)}
    placed |= {names[body] for hold in holds for body in hold.pair}
    found = []
    for link in connections:
        if link.ambiguous and link.rival is not None:
            found.append(
                f"ambiguous: the motion does not settle whether {link.child} hangs on "
                f"{link.parent}, or {link.rival[0]} on {link.rival[1]} instead"
            )
        if link.kind == "free" and link.child not in placed:
            found.append(
                f"{link.child} shares no joint with {link.parent}: they miss each other by "
                f"{100 * link.rms:.1f} cm; the nearest body was taken"
            )
    return found
