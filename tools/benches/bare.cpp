// The bare loop: the cost of judging without a judge. Compiles each submission with the judge's flags, then forks and
// executes it per test, with files as standard streams, and compares. There are no limits, no confinement and no
// report.
// Usage: bare CORES SUBMISSIONS TESTS CHECKER|- compile|run FLAG...
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

struct Work {
  int cores, submissions, tests;
  std::string checker;
  bool compile;
  std::vector<std::string> flags;
};

int run(const std::vector<std::string>& argv, const char* input, const char* output) {
  const pid_t child = vfork();
  if (child == 0) {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    if (input) dup2(open(input, O_RDONLY), 0);
    if (output) dup2(open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    execvp(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<std::string> words_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  return words;
}

bool passes(const Work& work, const std::string& program, int test, const std::string& place) {
  const std::string name = "tests/" + std::to_string(test), output = place + ".out";
  if (run({program}, (name + ".in").c_str(), output.c_str()) != 0) return false;
  if (work.checker == "-") return words_of(output) == words_of(name + ".out");
  const std::string said = place + ".said";
  run({work.checker, name + ".in", name + ".out", output}, nullptr, said.c_str());
  return words_of(said) == std::vector<std::string>{"1"};
}

int judge(const Work& work, int first) {
  int passed = 0;
  for (int submission = first; submission < work.submissions; submission += work.cores) {
    const std::string place = "work/" + std::to_string(submission), source = "submissions/" + std::to_string(submission) + ".cpp";
    std::vector<std::string> build = {"g++"};
    build.insert(build.end(), work.flags.begin(), work.flags.end());
    build.insert(build.end(), {"-o", place, source});
    if (work.compile && run(build, nullptr, nullptr) != 0) return -1;
    for (int test = 0; test < work.tests; ++test) passed += passes(work, "./" + place, test, place);
  }
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const Work work = {std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), argv[4], !std::strcmp(argv[5], "compile"), {argv + 6, argv + argc}};
  std::vector<int> pipes;
  const auto started = std::chrono::steady_clock::now();
  for (int core = 0; core < work.cores; ++core) {
    int ends[2];
    if (pipe(ends) != 0) return 2;
    if (fork() == 0) {
      const int passed = judge(work, core);
      return write(ends[1], &passed, sizeof passed) == sizeof passed ? 0 : 1;
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
  }
  int all = 0;
  for (const int end : pipes) {
    int passed = 0;
    if (read(end, &passed, sizeof passed) != sizeof passed) return 1;
    all += passed;
  }
  while (wait(nullptr) > 0) {}  // so that their CPU time is counted
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  std::printf("%d %.6f\n", all, took.count());
}
