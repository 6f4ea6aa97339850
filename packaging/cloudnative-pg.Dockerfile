# An extension image for CloudNativePG (1.27 or later, PostgreSQL 18 or later), with
# nothing but /lib and /share, as its field imageVolume wants:
#     docker build -f packaging/cloudnative-pg.Dockerfile -t bloomfilter:18 .
# and in the Cluster:
#     postgresql: {extensions: [{name: bloomfilter, image: {reference: "bloomfilter:18"}}]}
ARG MAJOR=18
FROM postgres:${MAJOR} AS build
ARG MAJOR
RUN apt-get update && apt-get install -y --no-install-recommends \
	gcc libc6-dev libxxhash-dev make postgresql-server-dev-${MAJOR}
COPY . /usr/src/bloomfilter
RUN make -C /usr/src/bloomfilter with_llvm=no && \
	make -C /usr/src/bloomfilter with_llvm=no install DESTDIR=/installed && \
	mkdir -p /image/lib /image/share/extension && \
	cp /installed/usr/lib/postgresql/${MAJOR}/lib/bloomfilter.so /image/lib/ && \
	cp /installed/usr/share/postgresql/${MAJOR}/extension/bloomfilter* /image/share/extension/

FROM scratch
COPY --from=build /image/ /
