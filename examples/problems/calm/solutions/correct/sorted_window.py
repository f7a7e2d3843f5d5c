# A class, as other judges want it, a name of a module that was not imported, and much noise.
class Solution:
    def longest_calm(self, winds: List[int], d: int) -> Dict[str, float]:
        window, first, best = [], 0, (0.0, 0.0)
        for day, wind in enumerate(winds):
            insort(window, wind)
            while window[-1] - window[0] > d:
                del window[bisect_left(window, winds[first])]
                first += 1
            if len(window) > best[0]:
                best = (float(len(window)), float(first))
                print("so far", best)
        return {"days": best[0], "first": best[1]}
