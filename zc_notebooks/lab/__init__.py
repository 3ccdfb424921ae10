"""A fleet of simulated providers that speak the real wires over loopback HTTP."""
