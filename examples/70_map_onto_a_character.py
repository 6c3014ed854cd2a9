"""A performer's walk on the performer's own rig, and on a child with the same bones' names."""

from dataclasses import replace

import osteon as ost
from osteon import synth
from osteon.synth import scaled

take = synth.perform(synth.human(), synth.walk(3.0), noise=0.001, seed=1)
recording = ost.Take(recordings=(take.recording,))

# A skeleton that carries the recording's markers is pulled by them.
own = ost.map_to(recording, take.truth.skeleton)
print(f"own rig: markers {1000 * own.rms:.2f} mm rms from the model")
for contact in own.contacts[:4]:
    print(f"  {contact.body} stands in frames {contact.frames[0]} to {contact.frames[1]}")

# One that does not gets them by its parts' names; other proportions are led by poses.
grown = synth.human()
child = scaled(grown, dict.fromkeys(grown.names, 0.69))
child = replace(child, bodies=tuple(replace(body, markers=()) for body in child.bodies))
small = ost.map_to(recording, child)
print(f"child: {len(small.contacts)} contacts;", *small.warnings)
