"""biobuddy's SCoRE on the pairs it is given: seconds and the centre in the parent's frame.

    python biobuddy_score.py FOLDER

FOLDER holds ``pairs.npz`` with parent and child as (n_pairs, 4, 4, n_frames).
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from biobuddy import RotoTransMatrixTimeSeries, Score  # pyright: ignore[reportMissingImports]

data = np.load(Path(sys.argv[1]) / "pairs.npz")
seconds, centres = 0.0, []
for parent, child in zip(data["parent"], data["child"], strict=True):
    poses = [RotoTransMatrixTimeSeries.from_rt_matrix(each) for each in (parent, child)]
    start = time.process_time()
    _, in_parent, *_ = Score.perform_algorithm(*poses, recursive_outlier_removal=False)
    seconds += time.process_time() - start
    centres.append(np.asarray(in_parent).reshape(-1)[:3].tolist())
result = {"version": f"biobuddy {version('biobuddy')}", "seconds": seconds, "centres": centres}
print("RESULT " + json.dumps(result))
