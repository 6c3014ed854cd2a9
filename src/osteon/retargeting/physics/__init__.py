"""The physical model, simulated: MuJoCo pulled by springs."""
