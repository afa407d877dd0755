"""Memory on the GPU for host memrefs that launches touch."""
