# nwx alone, for compose.yaml. Not built in the tests.
FROM python:3.13-slim
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY nwx nwx
COPY webapp webapp
COPY mappings mappings
RUN pip install --no-cache-dir . && useradd --create-home nwx
USER nwx
WORKDIR /home/nwx
ENTRYPOINT ["nwx"]
CMD ["serve", "--host", "0.0.0.0"]
