#!/bin/sh
# The entry point of the image. With arguments: the command `nwx ARGUMENTS`.
# Without: import the archive files in /warcs, build the facets, give Kibana its
# dashboard where NWX_KIBANA is its address, and serve.
#
# A step that fails is reported and the next one runs, so that one broken archive
# file does not keep the search page from starting.
set -u

[ $# -eq 0 ] || exec nwx "$@"

warcs=${NWX_WARCS:-/warcs}

step() {
  code=0
  nwx "$@" || code=$?
  [ "$code" -lt 128 ] || exit "$code" # stopped by a signal
  return "$code"
}

if [ -n "$(ls -A "$warcs" 2> /dev/null)" ]; then
  step import --strict "$warcs" ||
    echo "start: the import ended with errors (above); \`nwx files\` counts them by file" >&2
  step build-facets ||
    echo "start: the facets were not built; questions are counted from the captures" >&2
else
  cat >&2 << END
start: no archive files in $warcs. To fill the archive, start the container with
  docker run -v FOLDER-OF-WARCS:$warcs:ro …
or import into the running one: docker exec CONTAINER nwx import FILES
END
fi

if [ -n "${NWX_KIBANA:-}" ]; then
  step kibana --push "$NWX_KIBANA" ||
    echo "start: Kibana did not get the dashboard; \`nwx kibana --push URL\` tries again" >&2
fi

exec nwx serve --create --host 0.0.0.0
