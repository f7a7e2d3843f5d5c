def choices(numbered):
    """How heavy a choice can be, and one such choice."""
    found = {0: ()}
    for place, weight in numbered:
        found |= {heavy + weight: (*chosen, place) for heavy, chosen in found.items()}
    return found


n, wanted = map(int, input().split())
numbered = list(enumerate(map(int, input().split()), 1))
some, others = choices(numbered[: n // 2]), choices(numbered[n // 2 :])
heavy = next(heavy for heavy in some if wanted - heavy in others)
print(*some[heavy], *others[wanted - heavy])
