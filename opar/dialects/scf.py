"""The `scf` dialect: xDSL's, under the name that the rest of opar imports it by."""

from xdsl.dialects.scf import *  # noqa: F403
