# The nwx image: import and serve, on a folder or on Elasticsearch.
#
#   docker build -t nwx .
#   docker run -p 127.0.0.1:8080:8080 -p 127.0.0.1:8081:8081 \
#     -v FOLDER-OF-WARCS:/warcs:ro -v nwx:/home/nwx/archive nwx
#
# The tests of nwx have no containers: they run docker/start.sh, but do not build
# this image.
FROM python:3.13-slim
WORKDIR /src
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY nwx nwx
COPY webapp webapp
COPY mappings mappings
RUN pip install --no-cache-dir --constraint requirements.lock . && useradd --create-home nwx
COPY docker/start.sh /usr/local/bin/nwx-start
USER nwx
WORKDIR /home/nwx
# Made here so that a new volume belongs to the user.
RUN mkdir archive && python -c "from nwx.charts.pictures import browser_bundle; \
    from nwx.settings import cache_folder; browser_bundle(cache_folder())"
VOLUME /home/nwx/archive
EXPOSE 8080 8081
ENTRYPOINT ["nwx-start"]
