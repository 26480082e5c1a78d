"""The vortices of a run, each from its birth to its end: a table on the screen and in RUN/vortices.csv."""

import sys

import sidestream

run = sidestream.open(sys.argv[1])
rows = run["vortices"].reset_coords("step").to_dataframe()
lives = rows.groupby("track").agg(
    first_step=("step", "min"),
    last_step=("step", "max"),
    largest_volume=("volume", "max"),
    strongest=("extreme", lambda values: values.loc[values.abs().idxmax()]),
    circulation=("vorticity_integral", lambda values: values.loc[values.abs().idxmax()]),
)
lives.to_csv(f"{sys.argv[1]}/vortices.csv")
print(lives.sort_values("largest_volume", ascending=False).head(12).to_string(float_format="{:.4g}".format))
print(f"{len(lives)} vortices; all of them: {sys.argv[1]}/vortices.csv")
