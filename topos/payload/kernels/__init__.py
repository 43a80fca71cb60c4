"""The kernels whose bits are the spec: numpy arrays in, numpy arrays out."""
