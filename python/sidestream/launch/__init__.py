"""The programs of the package: how they are found, started, followed and stopped, and what each is asked."""
