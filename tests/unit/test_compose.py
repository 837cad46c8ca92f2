"""compose.yaml can be read, and says what it is."""

from pathlib import Path

import yaml

from nwx.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent.parent


def test_three_services_beside_each_other() -> None:
    text = (ROOT / "compose.yaml").read_text()
    assert "NOT run in the tests" in text.split("\nname:")[0]
    found = yaml.safe_load(text)
    services = found["services"]
    assert set(services) == {"elasticsearch", "kibana", "nwx"}
    for name in ("elasticsearch", "kibana"):
        assert services[name]["image"].startswith(f"docker.elastic.co/{name}/{name}:")
    versions = {services[name]["image"].partition(":")[2] for name in ("elasticsearch", "kibana")}
    assert len(versions) == 1
    published = [port for service in services.values() for port in service["ports"]]
    assert all(port.startswith("127.0.0.1:") for port in published)
    volumes = services["elasticsearch"]["volumes"]
    assert {volume.partition(":")[0] for volume in volumes} == set(found["volumes"])


def test_its_commands_are_commands() -> None:
    (line,) = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["nwx"]["command"]
    asked = [part.split("nwx ", 1)[1].split()[0] for part in line.split("&&")]
    assert asked == ["import", "build-facets", "kibana", "serve"]
    assert set(asked) <= set(COMMANDS)


def test_the_image_copies_what_is_there() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert copied
    assert all((ROOT / name).exists() for name in copied)
