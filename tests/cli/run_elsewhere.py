"""Documented commands that other tests run, or none does. A pattern has no alternatives, of which one could be dead."""

from __future__ import annotations

ARCHIVE, PLAIN, BENCH = "tests/cli/test_archive.py", "tests/cli/test_plain_arrays.py", "tests/cli/test_bench.py"
CASES, DISPLAY, STREAMS = "tests/cli/test_bench_cases.py", "tests/cli/test_display.py", "tests/cli/test_streams.py"
NEW, HOSTS, EXAMPLES = "tests/python/test_new.py", "tests/cli/test_hosts.py", "tests/cli/test_examples.py"
STEERING, COMPARE, LAUNCH = "tests/cli/test_steering.py", "tests/cli/test_compare.py", "tests/cli/test_launch.py"
TEMPLATES = "python/sidestream/scaffolding/templates"
BEGINNINGS = "tests/cli/test_initial_conditions.py"
OWN = "tests/cli/test_documented_commands.py"
# By the test that has more to say about them, patterns of commands.
BY_ANOTHER_TEST = {
    "tests/cli/test_conformance.py::test_a_good_program_passes": (r"sidestream conformance -- .*",),
    f"{ARCHIVE}::test_everything_with_a_final_name_is_copied_and_described": (r"sidestream archive .* --wait",),
    f"{ARCHIVE}::test_a_copy_goes_on_when_the_command_has_ended": (r"sidestream archive runs/demo \S+",),
    f"{ARCHIVE}::test_of_an_archive_that_is_looked_at_only_what_is_wanted_travels": (
        r"sidestream archive list .*",
        r"sidestream archive verify .*",
        r"sidestream archive get .*",
    ),
    f"{PLAIN}::test_halos_of_an_array_are_those_of_the_function": (r"sidestream halos find density.npy .*",),
    f"{PLAIN}::test_all_arrays_of_a_file_are_fields": (r"sidestream analyze fields.h5:/gas .*",),
    f"{PLAIN}::test_a_series_of_arrays_has_the_steps_of_their_names": (r"sidestream analyze density_\*.npy .*",),
    "tests/cli/test_demo.py::test_the_demo_sets_a_copy_of_the_project_up_and_leaves_its_report": (r"make demo",),
    f"{NEW}::test_what_is_made_is_formatted_and_in_its_layer": (r"sidestream new analysis mean_age --checkout .",),
    f"{NEW}::test_files_of_ones_own_pass_their_test": (
        r"sidestream new analysis mean_age",
        r"sidestream new simulation heat",
        r"pytest test_mean_age.py",
    ),
    f"{TEMPLATES}/analysis/test_example.py::test_example": (r"sidestream run mean_age.toml -n 2",),
    f"{TEMPLATES}/simulation/test_example.py::test_a_wave_decays_as_it_must": (r"mpirun -n 2 python heat.py .*",),
    f"{NEW}::test_what_is_made_passes_the_tests_that_are_named": (
        r"cmake --build build/release --target test_\w+",
        r"ctest --preset release -R \w+",
    ),
    f"{NEW}::test_what_is_made_is_run_by_what_was_built": (
        r"cmake --build build/release --target sidestream-run",
        r"mpirun -n 2 build/release/apps/sidestream-run box.toml",
    ),
    f"{CASES}::test_a_case_by_the_model_alone_is_a_table": (
        r"sidestream bench io --case enzo --sizes AMR64",
        r"sidestream bench io --case flash --model --most-ranks 1024",
        r"sidestream bench io --case enzo --model",
    ),
    f"{CASES}::test_the_flash_study_is_measured_and_modelled": (r"sidestream bench io --case flash --out flash",),
    f"{CASES}::test_the_nyx_study_is_measured_in_boxes_of_32_cells": (r"sidestream bench io --case nyx --out nyx",),
    f"{CASES}::test_the_enzo_study_is_measured_and_modelled": (r"sidestream bench io --case enzo --out enzo",),
    f"{CASES}::test_transfers_bring_every_value_by_every_way": (r"sidestream bench transfer -n 4",),
    f"{CASES}::test_transfers_by_the_model_alone_are_drawn": (r"sidestream bench transfer --model .*",),
    f"{BENCH}::test_every_strategy_moves_every_cell": (r"sidestream bench move .*",),
    f"{BENCH}::test_a_sinusoid_leaves_one_mode": (
        r"sidestream bench fft -n 4 --cells 256",
        r"sidestream bench fft .* --from blocks",
    ),
    f"{BENCH}::test_a_flow_takes_the_way_that_the_benchmark_found": (r"sidestream bench fft .* --kept 21",),
    "tests/cli/test_commands.py::test_check_for_programs_is_json": (r"sidestream check box.toml -n 512",),
    "tests/cli/test_commands.py::test_info_of_a_folder_of_runs_is_a_table_of_them": (r"sidestream info runs",),
    "tests/cli/test_commands.py::test_plot_prints_the_paths_of_the_pictures": (
        r"sidestream plot runs/box --task halos",
        r"sidestream plot runs/forest --task forest",
    ),
    "tests/cli/test_ionized_files.py::test_tasks_say_another_background": (
        r"sidestream analyze plt00123 --task gimlet .*",
    ),
    f"{OWN}::test_commands_of_a_page_work_in_their_order": (
        r"sidestream run box.toml -n 2 --from plt00012 .*",
        r"sidestream verify runs/cosmo -n 2",
    ),
    f"{OWN}::test_a_run_that_waits_for_a_reader_is_read": (
        r"sidestream run live.toml -n 2",
        r"sidestream run examples/stream/blast.toml .*",
    ),
    "tests/cli/test_zoom.py::test_a_zoom_runs_and_has_fine_particles_where_the_halo_came_from": (
        r"sidestream run box.toml -n 4 --out runs/box",
        r"sidestream zoom .*",
        r"sidestream run zoom.toml .*",
    ),
    "tests/sims/refined_run_test.cpp::AMeshThatOutgrowsItsBlocksEndsTheRunWithACheckpointToGoOnFrom": (
        r"sidestream run run.toml -n 8 .* --set amr.max_blocks=400000",
    ),
    f"{HOSTS}::test_a_program_gets_its_own_numbers": (
        r"mpicc examples/hosts/wave.c .*",
        r"mpirun -n 2 ./wave .*",
    ),
    f"{HOSTS}::test_a_program_with_the_stub_runs_without_the_library_and_uses_one_that_is_there": (
        r"mpicc -c .*/sidestream_stub.c .*",
        r"SIDESTREAM_LIBRARY=\S+ mpirun .*",
    ),
    "tests/cli/test_own_code_page.py::test_fortran_with_the_stub_runs_without_the_library_and_uses_one_that_is_there": (
        r"mpif90 .* sidestream_stub.o .*",
    ),
    "tests/python/test_mpi_blocks.py::test_blocks_have_the_results_of_the_whole": (r"mpirun -n 4 python my_script.py",),
    "tests/python/test_redistribution.py::test_a_stack_of_images_becomes_bricks": (
        r"mpirun -n 4 python examples/redistribution/tiff_bricks.py .*",
    ),
    f"{BEGINNINGS}::test_a_check_takes_what_a_run_begins_with": (r"sidestream check lya.toml",),
    f"{BEGINNINGS}::test_a_run_begins_with_the_particles_of_the_file": (r"sidestream run lya.toml -n 2",),
    f"{EXAMPLES}::test_each_example_runs_and_leaves_results": (
        r"sidestream run lya.toml --out lya .*",
        r"sidestream run forest.toml -n 2",
        r"sidestream run examples/lya_wdm.toml .*",
        r"sidestream run examples/mergers.toml -n 2",
    ),
    f"{EXAMPLES}::test_one_command_starts_a_run_and_its_readers": (r"examples/wind_tunnel/watch.sh .*",),
    "tests/cli/test_offline_parity.py::test_each_analysis_of_plot_files_gives_the_results_of_the_run": (
        r"sidestream analyze PLOTFILE --config through_halos.toml",
    ),
    "tests/python/test_lya_wdm.py::test_the_newest_results_of_the_runs_are_drawn_into_a_file": (
        r"python examples/lya_wdm.py .*",
    ),
    f"{DISPLAY}::test_the_page_is_shown_in_a_browser_and_ends_with_ctrl_c": (r"sidestream view .* --open",),
    f"{DISPLAY}::test_a_wall_ends_with_its_frame_rate_and_delays_on_the_screen_and_in_a_file": (
        r"sidestream display .*",
    ),
    f"{DISPLAY}::test_a_movie_has_the_rate_that_is_asked_for_and_words_in_its_frames": (r"sidestream movie .*",),
    "tests/cli/test_regions.py::test_a_function_of_ones_own_sorts_the_regions": (r"sidestream regions classify .*",),
    f"{STEERING}::test_what_is_set_and_paused_is_told_in_the_events": (
        r"sidestream steer runs/\w+ list",
        r"sidestream steer runs/\w+ set .*",
        r"sidestream steer runs/\w+ edit .* --cells .*",
    ),
    f"{STEERING}::test_a_run_listens_where_its_command_says_so": (r"sidestream run examples/sedov.toml .* --steer",),
    f"{STEERING}::test_arrays_masks_and_conditions_are_made_again_on_other_ranks": (
        r"sidestream steer runs/\w+ edit .* --where .*",
    ),
    f"{STEERING}::test_the_same_run_again_on_other_ranks": (r"sidestream run .* --replay .*",),
    f"{STREAMS}::test_results_are_those_of_in_situ_from_any_ranks_to_any": (r"sidestream attach runs/live .*",),
    f"{STREAMS}::test_a_colleague_is_let_in_by_his_public_key": (r"sidestream attach 'tcp:.*",),
    "tests/cli/test_instruction_sets.py::test_results_are_the_same_to_the_bit_with_any_instruction_set": (
        r"GLIBC_TUNABLES=\S+ sidestream-run box.toml",
    ),
    "tests/cli/test_instruction_sets.py::test_the_loader_leaves_out_instruction_sets_as_well": (r"ld.so .*",),
    f"{LAUNCH}::test_a_run_with_a_reader_goes_on_in_another_job_where_it_ran_out_of_time": (
        r"sidestream launch box.toml .* --sbatch .*",
        r"sbatch box.sbatch",
    ),
    f"{LAUNCH}::test_a_script_that_is_there_is_kept": (r"sidestream launch box.toml .* --overwrite",),
    "tests/cli/test_sweep.py::test_every_combination_has_a_run_and_a_line_of_the_table": (r"sidestream sweep .*",),
    f"{COMPARE}::test_chi_squared_is_that_of_the_tables": (r"sidestream compare .* --data flux_power",),
    f"{COMPARE}::test_a_covariance_of_ones_own_is_used_between_all_points": (r"sidestream compare .* --covariance .*",),
}
# By the reason, patterns of what no test of this project can run; the files and targets that it names are there.
NOT_RUN = {
    "whole suites, of which tests are part; .ci/run does the first": (
        r"make test",
        r"make test-\w+",
        r"make sanitize",
        r"make sanitize-threads",
    ),
    "minutes, of which a suite has its share": (
        r"make fuzz",
        r"make wheels",
        r"make bench",
        r"make tidy",
        r"make docs",
    ),
    "of the sources as they are, not of what they do; .ci/run does": (r"make lint",),
    "installs, or changes the shell": (r"source .*", r"export .*", r"pip install .*"),
    "builds everything from nothing; .ci/run does": (
        r"cmake --preset .*",
        r"cmake --build build/release",
        r"cmake --build build/release --target bench_fft_at_scale",
        r"cmake --install .*",
    ),
    "minutes, on figures of a machine that is quiet": (
        r"python bench/.*",
        r"build/release/bench/.*",
        r"mpirun -n 1 build/release/bench/.*",
    ),
}
