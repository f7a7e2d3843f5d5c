# Needs a wheel of ioi_eval in this folder: pip wheel --no-deps --wheel-dir FOLDER . in a clone of ioi_eval
FROM python:3.13-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /tests
RUN pip install --no-cache-dir /tests/ioi_eval-*.whl
WORKDIR /app
