"""Recording → Skeleton: the subject's joints and marker places, fitted to all frames at once."""
