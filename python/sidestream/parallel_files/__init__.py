"""A model of parallel file systems: what ways of writing and moving data would take on machines that are not here."""
