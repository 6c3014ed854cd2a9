"""What Qualisys Track Manager exports."""
