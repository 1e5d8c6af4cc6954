#!/usr/bin/env python3
"""The smallest program that profiles itself: it prints which instructions work() ran."""
import hbbp


def work():
    return sum(1 / i for i in range(1, 10_000_000))


with hbbp.Session() as session:
    print('sum =', work())
print(session.profile().mix())
