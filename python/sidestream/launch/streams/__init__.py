"""What `sidestream bench stream` measures and counts: pairs of jobs, the link between them, their loads, a model."""
