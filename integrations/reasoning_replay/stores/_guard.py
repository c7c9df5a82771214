"""How little a call depends on its store: an operation that fails or takes longer than `PATIENCE` is given up.

Operations run on one daemon thread a store, in order, so that whoever waits can stop waiting. Then the store is left
alone, for longer each time up to `LONGEST_PAUSE`, and one operation is the trial. What cannot be written may still be
read (a full disk): writing that fails stops writes, reading that fails or anything slow stops both.
Told once, by the fault's type alone: what a backend says of itself may hold a path, a password or a text.
A fork takes no thread along: before it the backend lets go of what must not cross, after it the child starts anew.
The one broad `except` outside of `_faults` stands here: a backend may raise anything.
"""
