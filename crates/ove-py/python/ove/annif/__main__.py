"""Annif's command line, with the backend `ove`."""

from annif.cli import cli

if __name__ == "__main__":
    cli(prog_name="python -m ove.annif")
