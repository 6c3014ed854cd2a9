"""Many takes: found, grouped by subject, calibrated together, solved one by one.

    from osteon.batch import batch

    done = batch("archive", "solved", workers=8)
    done.rows[0]            the worst take

Work is cut into jobs that leave a whole folder or nothing. What is on disk is the only memory: a
batch that was killed is started again and goes on. The jobs run in a pool of processes here or on
the workers of a dask scheduler; they are the same functions and leave the same bytes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
