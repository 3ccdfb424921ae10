"""Which candidates a call asks for when it does not say so itself: effort, operators' choices, turns."""
