"""MuJoCo's models."""
