"""Pictures of halos: maps, mass functions, properties, scenes, mergers."""
