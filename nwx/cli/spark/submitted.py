"""The script that spark-submit runs: nwx itself."""

from nwx.cli.main import main

if __name__ == "__main__":
    main()
