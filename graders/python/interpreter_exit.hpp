// How a forked interpreter ends: as it does after a start, but without taking apart what it got from the one that
// forked it. To free an object writes to it, and so copies a page that all forked processes share: that took longer
// than a short test.
#pragma once

namespace interpreter_exit {

// Called in the interpreter that waits, once all is imported.
void prepare();

// Called in a forked process, before it runs a script. Not for an archive, whose first frame is another one's.
void watch_script();

}  // namespace interpreter_exit
