"""Performers and linkages whose truth is known.

    from osteon import synth

    take = synth.perform(
        synth.human(), synth.walk(seconds=10),
        noise=0.001, skin=1.0, gaps=0.05, swaps=20, seed=3,
    )
    take.recording       what cameras would have seen
    take.truth.joints    where every joint was

    worn = synth.sense(synth.linkage(), synth.exercise(), noise=0.004, orientation_noise=0.017)
    worn.bodies          what a magnetic tracker would have seen
    worn.truth.placement where its sensors sat

Performers × motions × instruments × troubles: each is a small function, and any goes with any."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
