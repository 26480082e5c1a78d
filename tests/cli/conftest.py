from fixtures import config, finished_run, own_run, real_sidestream, sidestream

__all__ = ["config", "finished_run", "own_run", "real_sidestream", "sidestream"]
