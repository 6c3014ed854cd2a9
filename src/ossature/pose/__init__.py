"""Recording + Skeleton → Motion: the pose of a known rig in every frame."""
