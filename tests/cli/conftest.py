from fixtures import config, finished_run, own_run, sidestream

__all__ = ["config", "finished_run", "own_run", "sidestream"]
