"""What Java's archives of class data save: CPU time of programs that are started as the judge starts them."""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

from ioi_eval.engines.embedded.toolchains import find_java
from ioi_eval.model.languages import find

SUM = """import java.io.*;
import java.util.*;
public class Sum { public static void main(String[] words) throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    int n = Integer.parseInt(in.readLine().trim());
    StringTokenizer line = new StringTokenizer(in.readLine());
    long sum = 0;
    for (int i = 0; i < n; i++) sum += Integer.parseInt(line.nextToken());
    System.out.println(sum); } }
"""
STREAMS = """import java.util.*;
import java.util.stream.*;
public class Streams { public static void main(String[] words) {
    Scanner in = new Scanner(System.in);
    int n = in.nextInt();
    List<Integer> all = new ArrayList<>();
    for (int i = 0; i < n; i++) all.add(in.nextInt());
    Collections.sort(all);
    Map<Integer, Integer> counts = new HashMap<>();
    for (int one : all) counts.merge(one, 1, Integer::sum);
    System.out.println(all.stream().map(String::valueOf).collect(Collectors.joining(" ")));
    System.out.printf("%d %.3f%n", counts.size(), 1.5); } }
"""
INPUT = b"5\n3 1 2 5 4\n"


def jar(java: Path, folder: Path, name: str, source: str) -> Path:
    """The program, packed by the same JDK."""
    (folder / f"{name}.java").write_text(source)
    tools, packed = java.resolve().parent, folder / f"{name}.jar"
    subprocess.run([tools / "javac", "-d", folder / name, folder / f"{name}.java"], check=True)
    subprocess.run([tools / "jar", "cfe", packed, name, "-C", folder / name, "."], check=True)
    return packed


def start(command: list[str]) -> float:
    """CPU time in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=INPUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def made_for(java: str, jars: list[Path], folder: Path) -> Path:
    """An archive of the system's classes that these programs load."""
    wanted = set[str]()
    for number, packed in enumerate(jars):
        listed = folder / f"{number}.list"
        start(
            [
                java,
                "-XX:+UseSerialGC",
                "-Xshare:off",
                f"-XX:DumpLoadedClassList={listed}",
                "-jar",
                str(packed),
            ]
        )
        lines = listed.read_text().splitlines()
        wanted |= {line for line in lines if "source:" not in line and not line.startswith("#")}
    names = {packed.stem for packed in jars}
    chosen, archive = folder / "chosen.list", folder / "made.jsa"
    chosen.write_text("\n".join(sorted(line for line in wanted if not any(name in line for name in names))))
    start([java, "-Xshare:dump", f"-XX:SharedClassListFile={chosen}", f"-XX:SharedArchiveFile={archive}"])
    return archive


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=20)
    starts = parser.parse_args().starts
    found = find_java()
    if found is None:
        raise SystemExit("no java that can compile: apt-get install default-jdk-headless")
    with tempfile.TemporaryDirectory(prefix="ioi-eval-java-") as place:
        folder = Path(place)
        jars = [jar(Path(found.path), folder, *each) for each in (("Sum", SUM), ("Streams", STREAMS))]
        archive = made_for(found.path, jars, folder)
        _, *options, _artifact = find("java").run(memory=256 << 20)
        ways = {
            "no archive": ["-Xshare:off"],
            "the JDK's own": [],
            "made for contest programs": [f"-XX:SharedArchiveFile={archive}", "-Xshare:on"],
        }
        costs: dict[tuple[str, Path], list[float]] = {(way, packed): [] for way in ways for packed in jars}
        for _ in range(starts):  # in turns, so that other load meets all alike
            for (way, packed), found_out in costs.items():
                found_out.append(start([found.path, *ways[way], *options, str(packed)]))
        for way in ways:
            print(f"{way:<28}" + "".join(f"{statistics.median(costs[way, packed]):8.1f}" for packed in jars))


if __name__ == "__main__":
    main()
