"""Builds and batches as jobs on a transport: the engine of all transports."""
