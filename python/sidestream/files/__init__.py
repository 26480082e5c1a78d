"""What lies on disk: plot files and checkpoints of any format, and the door to everything."""
