"""What a magnetic tracker near iron does to places, from a bar walked through its volume [000]."""

from pathlib import Path
from tempfile import TemporaryDirectory

from osteon import synth
from osteon.articulation import bodies_of, joints
from osteon.cleaning import field_of_bar
from osteon.delivery import field_text, write_field_files
from osteon.formats import read_field
from osteon.values import Take

# Iron below the floor and beside the volume; a bar of 56.5 cm is walked through it for a minute.
tracker = synth.Iron(pull=0.15)
bar = tracker.sense(synth.walked_bar(60))
walk = field_of_bar(Take(bodies=(bar,)), 0.565)
print(field_text(walk))

# The same tracker records a linkage; the field is taken off, and noisy places count less.
take = synth.sense(synth.linkage(), synth.exercise(15, rate=60, together=True), seed=1)
seen = bodies_of(Take(bodies=(tracker.sense(take.bodies),)))
with TemporaryDirectory() as folder:
    write_field_files(walk, Path(folder))
    moving = seen.in_field(read_field(Path(folder) / "field.json"))
found = joints(moving.bodies, noise=moving.noise)
for link in found.connections:
    print(f"{link.child} on {link.parent}: known to ±{1000 * link.ellipsoid[0][0]:.1f} mm")
