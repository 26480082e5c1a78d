"""The analyses on NumPy arrays: halos, power spectra, merge trees."""
