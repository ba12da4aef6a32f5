"""Print the table of speeds: the same as ``hanabi-search bench``."""

from hanabi_search_plugin.cli.bench import bench

if __name__ == "__main__":
    bench()
