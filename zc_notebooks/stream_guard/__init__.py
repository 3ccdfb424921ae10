"""How streams are framed and how their ends are judged."""
