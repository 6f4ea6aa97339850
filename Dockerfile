# PostgreSQL with the extension:
#     docker build --build-arg MAJOR=17 -t postgres-bloomfilter .
ARG MAJOR=17
FROM postgres:${MAJOR} AS build
ARG MAJOR
RUN apt-get update && apt-get install -y --no-install-recommends \
	gcc libc6-dev libxxhash-dev make postgresql-server-dev-${MAJOR}
COPY . /usr/src/bloomfilter
RUN make -C /usr/src/bloomfilter with_llvm=no && \
	make -C /usr/src/bloomfilter with_llvm=no install DESTDIR=/installed

FROM postgres:${MAJOR}
COPY --from=build /installed /
RUN echo "CREATE EXTENSION bloomfilter" >/docker-entrypoint-initdb.d/bloomfilter.sql
