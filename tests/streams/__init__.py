"""Streams under stress: crowds, deaths, interrupts, and the properties of a turn."""
