# One image for Airflow and Spark: the driver, which runs beside the scheduler, and the executors
# then have the same Python, the same Java, the same jars and the same user.
#
#   docker compose build      with the user that `make env` wrote into .env
FROM python:3.12.12-slim-bookworm
RUN apt-get update \
 && apt-get install --yes --no-install-recommends curl default-jre-headless make procps \
 && rm -rf /var/lib/apt/lists/*
ARG TIDEMILL_UID
# A user with a name, because Hadoop asks for it.
RUN useradd --non-unique --uid "$TIDEMILL_UID" --gid 0 --create-home tidemill \
 && install --directory --owner=tidemill --group=0 --mode=2775 \
      /opt/tidemill /data/root /data/airflow /data/input /data/project /data/spark-worker /data/s3
USER tidemill
WORKDIR /opt/tidemill
ENV UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1 PIP_NO_CACHE_DIR=1
ENV PATH=/opt/tidemill/.venv/bin:$PATH
COPY --chown=tidemill:0 Makefile pyproject.toml requirements.lock requirements-setup.lock ./
RUN make .venv/.done-packages
COPY --chown=tidemill:0 README.md LICENSE jars.lock ./
COPY --chown=tidemill:0 spark_jobs spark_jobs
RUN python -m tidemill.toolchain.jars kafka avro s3
COPY --chown=tidemill:0 plugins plugins
COPY --chown=tidemill:0 expectations expectations
COPY --chown=tidemill:0 dags dags
RUN make setup && python -m compileall -q spark_jobs plugins dags
