"""Pictures of the Lyman-alpha forest: flux, its power, lines of sight."""
