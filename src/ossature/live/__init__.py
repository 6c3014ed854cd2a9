"""A stream of markers or sensors → calibration that improves, and a pose for every frame."""
