import sys
from pathlib import Path

import whisper

import tools

with Path(sys.argv[1]).open() as heard, Path(sys.argv[2]).open("w") as said:
    number = tools.number(heard)
    said.write(f"{(whisper.loud if int(sys.argv[3]) else whisper.soft)(number)}\n")
