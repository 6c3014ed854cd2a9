"""Give bones one length each: joint positions with noise in, a rig with angles out.

Run: python examples/50_fit_fixed_lengths.py
"""

import numpy as np

import osteon as ost
from osteon import synth

# a walk whose joints we know; what a pose network might give of them: 1 cm of noise
truth = synth.perform(synth.human(), synth.walk(seconds=5), seed=1).truth
rng = np.random.default_rng(1)
joints = truth.joints + rng.normal(scale=0.01, size=truth.joints.shape)
recording = ost.Recording(joints, truth.skeleton.names, rate=truth.motion.rate)

result = ost.fit(recording, truth.skeleton)
print(result)
true_lengths = dict(
    zip(truth.skeleton.names, np.linalg.norm(truth.skeleton.offsets, axis=-1), strict=True)
)
for name in ("left_shin", "left_foot", "head"):
    length, error = result.lengths[name], result.standard_errors[name]
    print(
        f"bone to {name}: {1e3 * length:.1f} ± {1e3 * error:.1f} mm, "
        f"truth {1e3 * true_lengths[name]:.1f} mm"
    )

# least squares, as in [004], makes bones longer
plain = ost.fit(recording, truth.skeleton, debias=False)
longer = np.mean([plain.lengths[name] / result.lengths[name] - 1 for name in result.lengths])
print(f"least squares: bones {longer:.1%} longer on average")

# put both ankles exactly where they were
ankles = {name: truth.joints[:, truth.skeleton.index(name)] for name in ("left_foot", "right_foot")}
on_target = ost.rectify(result.motion, ankles)
print(on_target)
