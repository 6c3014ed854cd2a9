"""The compiled part of posing: normal equations, limits, Levenberg–Marquardt."""
