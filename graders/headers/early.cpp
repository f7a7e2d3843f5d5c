// A plugin of g++ for a precompiled header that leaves few template instantiations to its programs.
//
// Maker (-fplugin-arg-early-usual=FILE -fplugin-arg-early-made=HEADER): at `#pragma ioi_eval early`, the header's
// last line, performs the instantiations that g++ would put off to the end of every program, but for those that
// make a symbol in FILE, which usual programs reach, and those that add to a list whose order shows in programs.
// Appends the names of all symbols that came of it to HEADER.
// Checker (-fplugin-arg-early-header=HEADER): ends the compilation with exit code 33 if any of these symbols is
// left in the program when unreachable ones are gone. If none is, the program is as it would be without all that.
//
// Declared by hand, since few machines have the compiler's own headers. What is not as expected ends with 1 or 33.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

struct cpp_reader;
struct tree_node;
struct ggc_root_tab {
    void *base;
    size_t nelt, stride;
    void (*mark)(void *), (*save)(void *);
};
struct plugin_name_args {
    char *base_name;
    const char *full_name;
    int argc;
    struct {
        char *key, *value;
    } *argv;
};
struct tinst_level {
    tinst_level *next;
    tree_node *decl;
};
struct pending_template {
    pending_template *next;
    tinst_level *tinst;
};
struct tree_vec {
    unsigned allocated, length;
};
enum tree_code : int;
struct symbol_table {
    void dump(FILE *);
};
struct symtab_node {
    static symtab_node *get_for_asmname(const tree_node *);
};

extern "C" void register_callback(const char *, int, void (*)(void *, void *), void *);
extern symbol_table *symtab;
extern tree_vec *unemitted_tinfo_decls, *keyed_classes, *static_decls;
extern tree_node *static_aggregates, *tls_aggregates;
extern const ggc_root_tab gt_ggc_r_gt_cp_pt_h[];
void gt_ggc_mx_pending_template(void *);
void c_register_pragma(const char *, const char *, void (*)(cpp_reader *));
bool seen_error();
tree_node *instantiate_decl(tree_node *, bool, bool);
tree_node *decl_assembler_name(tree_node *);
tree_node *maybe_get_identifier(const char *);
char *print_generic_expr_to_str(tree_node *);
const char *get_tree_code_name(tree_code);

extern "C" {
int plugin_is_GPL_compatible;
}

namespace {

enum Event { PRE_GENERICIZE = 6, FINISH = 7, PRAGMAS = 15, ALL_IPA_PASSES_START = 18 };
constexpr int REFUSED = 1, REACHED = 33, MOST_ROUNDS = 50;
constexpr char ORDERED[] = "/an ordered list";
constexpr char MARK[] = "ioi-eval early\n";

std::string usual_file, header;
std::set<std::string> usual, names;          // what programs reach; what came of the early ones: names, /numbers
std::vector<size_t> roots;                   // by item of the list: the one of the header that led to it
std::map<std::string, std::set<size_t>> led; // to a symbol
size_t current;
bool under_way, whole;

[[noreturn]] void give_up(const char *why) {
    fprintf(stderr, "the header cannot be made early: %s\n", why);
    _exit(REFUSED);
}

bool is(tree_node *decl, const char *kind) {
    return !strcmp(get_tree_code_name(tree_code(*reinterpret_cast<uint16_t *>(decl))), kind);
}

void found(tree_node *decl) { led[print_generic_expr_to_str(decl_assembler_name(decl))].insert(roots[current]); }

void generic(void *decl, void *) {
    if (under_way) found(static_cast<tree_node *>(decl));
}

// The lists whose order shows in programs: g++ emits type infos, virtual tables and initializers by them.
auto ordered() {
    const auto length = [](const tree_vec *list) { return list ? list->length : 0; };
    return std::make_tuple(length(unemitted_tinfo_decls), length(keyed_classes), length(static_decls),
                           static_aggregates, tls_aggregates);
}

pending_template *first_pending() {
    for (const ggc_root_tab *root = gt_ggc_r_gt_cp_pt_h; root->base; ++root)
        if (root->mark == gt_ggc_mx_pending_template)  // the list's beginning, then its end
            if (auto *item = *static_cast<pending_template **>(root->base); item && item->next) return item;
    give_up("nothing is pending");
}

// What the compiler says about each symbol, but its name, by the number that it has for good: `name/number (...)`.
std::map<std::string, std::string> symbols() {
    char *text = nullptr;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    symtab->dump(out);
    fclose(out);
    std::map<std::string, std::string> all;
    std::string number;
    for (char *line = strtok(text, "\n"); line; line = strtok(nullptr, "\n")) {
        if (line[0] == ' ') {
            if (!number.empty()) all[number] += line + std::string("\n");
            continue;
        }
        number.clear();
        for (const char *at = line; number.empty() && (at = strchr(at, '/')); ++at)
            if (const size_t digits = strspn(at + 1, "0123456789"); digits && !strncmp(at + 1 + digits, " (", 2))
                number.assign(at, digits + 1);
    }
    free(text);
    return all;
}

void perform(const std::set<size_t> &kept) {
    std::vector<tree_node *> items;
    pending_template *last = nullptr;
    for (last = first_pending();; last = last->next) {
        roots.push_back(items.size());
        items.push_back(last->tinst->decl);
        if (!last->next) break;
    }
    const size_t own = items.size();
    under_way = true;
    for (current = 0; current < items.size(); ++current) {
        if (!is(items[current], "function_decl") || (current < own && kept.count(current))) continue;
        const auto before = ordered();
        instantiate_decl(items[current], false, false);
        if (ordered() != before) led[ORDERED].insert(roots[current]);
        for (; last->next; last = last->next) {
            tree_node *next = last->next->tinst->decl;
            roots.push_back(roots[current]);
            items.push_back(next);
            if (is(next, "function_decl") || is(next, "var_decl")) found(next);
        }
    }
    under_way = false;
}

// Which of the header's items must stay pending, given that these do: tried in a child.
std::set<size_t> led_to_usual(const std::set<size_t> &kept) {
    int ends[2];
    if (pipe(ends)) give_up("no pipe");
    const pid_t child = fork();
    if (child < 0) give_up("no child");
    if (child == 0) {
        close(ends[0]);
        perform(kept);
        FILE *out = fdopen(ends[1], "w");
        for (const auto &[name, from] : led)
            if (usual.count(name) || name == ORDERED)
                for (size_t root : from) fprintf(out, "%zu\n", root);
        fputs("end\n", out);
        _exit(fclose(out) ? REFUSED : 0);
    }
    close(ends[1]);
    std::set<size_t> more;
    FILE *in = fdopen(ends[0], "r");
    size_t root;
    while (fscanf(in, "%zu", &root) == 1) more.insert(root);
    char word[4] = "";
    const bool ended = fscanf(in, "%3s", word) == 1 && !strcmp(word, "end");
    fclose(in);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status || !ended) give_up("a trial failed");
    return more;
}

std::string contents(const std::string &path) {
    std::string text;
    FILE *in = fopen(path.c_str(), "rb");
    if (!in) return text;
    char bytes[1 << 16];
    while (size_t got = fread(bytes, 1, sizeof bytes, in)) text.append(bytes, got);
    fclose(in);
    return text;
}

std::set<std::string> lines(const std::string &text) {
    std::set<std::string> all;
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        if (end > at) all.insert(text.substr(at, end - at));
    return all;
}

void make(cpp_reader *) {
    usual = lines(contents(usual_file));
    if (usual.empty()) give_up("no list of usual names");
    std::set<size_t> kept;
    for (int round = 0;; ++round) {
        if (round == MOST_ROUNDS) give_up("no end of what usual programs reach");
        const std::set<size_t> more = led_to_usual(kept);
        if (more.empty()) break;
        kept.insert(more.begin(), more.end());
    }
    const auto before = symbols();
    perform(kept);
    for (const auto &[name, from] : led) names.insert(name);
    for (const auto &[number, told] : symbols())
        if (auto old = before.find(number); old == before.end() || old->second != told) names.insert(number);
    whole = true;
}

void append(void *, void *) {
    if (!whole) return;
    FILE *out = fopen(header.c_str(), "ab");
    if (!out) give_up("no header");
    size_t size = 0;
    for (const std::string &name : names) size += size_t(fprintf(out, "%s\n", name.c_str()));
    fprintf(out, "%016zx%s", size, MARK);
    if (fclose(out)) give_up("no room");
}

void pragmas(void *, void *) { c_register_pragma("ioi_eval", "early", make); }

std::set<std::string> appended() {
    FILE *in = fopen(header.c_str(), "rb");
    char end[16 + sizeof MARK] = "";
    constexpr long LENGTH = sizeof end - 1;
    if (!in || fseek(in, -LENGTH, SEEK_END) || fread(end, LENGTH, 1, in) != 1 || strcmp(end + 16, MARK)) return {};
    std::string text(strtoul(std::string(end, 16).c_str(), nullptr, 16), '\0');
    if (fseek(in, -LENGTH - long(text.size()), SEEK_END) || fread(text.data(), text.size(), 1, in) != 1) return {};
    fclose(in);
    return lines(text);
}

bool checked;

void check(void *, void *) {
    const std::set<std::string> early = appended();
    if (early.empty()) _exit(REACHED);
    for (const auto &[number, told] : symbols())
        if (early.count(number)) _exit(REACHED);
    for (const std::string &name : early)
        if (tree_node *known = maybe_get_identifier(name.c_str()); known && symtab_node::get_for_asmname(known))
            _exit(REACHED);
    checked = true;
}

void require_check(void *, void *) {
    if (!checked && !seen_error()) _exit(REACHED);
}

}  // namespace

extern "C" int plugin_init(plugin_name_args *given, void *) {
    for (int i = 0; i < given->argc; ++i) {
        const std::string key = given->argv[i].key, value = given->argv[i].value ? given->argv[i].value : "";
        if (key == "usual") usual_file = value;
        else header = value;
    }
    if (usual_file.empty()) {
        register_callback("early", ALL_IPA_PASSES_START, check, nullptr);
        register_callback("early", FINISH, require_check, nullptr);
    } else {
        register_callback("early", PRAGMAS, pragmas, nullptr);
        register_callback("early", PRE_GENERICIZE, generic, nullptr);
        register_callback("early", FINISH, append, nullptr);
    }
    return 0;
}
