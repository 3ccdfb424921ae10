"""Profiles, chain, routes and policy from zc.toml and the environment."""
