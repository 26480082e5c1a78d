"""Parts that work, to be changed into one's own: what `sidestream new` makes."""
