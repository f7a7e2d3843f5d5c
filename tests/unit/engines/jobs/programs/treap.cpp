#include <bits/stdc++.h>
using namespace std;
struct Node {
    int key, priority, size = 1;
    unique_ptr<Node> left, right;
    explicit Node(int k) : key(k), priority(k * 7919 % 1009) {}
};
using Tree = unique_ptr<Node>;
int size_of(const Tree& t) { return t ? t->size : 0; }
Tree update(Tree t) { return t->size += size_of(t->left) + size_of(t->right) + 1 - t->size, move(t); }

pair<Tree, Tree> split(Tree t, int key) {
    pair<Tree, Tree> halves;
    if (!t) return halves;
    halves = split(move(t->key < key ? t->right : t->left), key);
    if (t->key < key) t->right = move(halves.first), halves.first = update(move(t));
    else t->left = move(halves.second), halves.second = update(move(t));
    return halves;
}

Tree merge(Tree a, Tree b) {
    if (!a || !b) return a ? move(a) : move(b);
    if (a->priority > b->priority) return a->right = merge(move(a->right), move(b)), update(move(a));
    return b->left = merge(move(a), move(b->left)), update(move(b));
}

int main() {
    Tree tree;
    for (int i = 0, key; i < 100; i++) {
        auto halves = split(move(tree), key = i * 61 % 103);
        tree = merge(merge(move(halves.first), Tree(new Node(key))), move(halves.second));
    }
    tree = split(move(tree), 40).second;
    for (const Node* n = tree.get(); n; n = n->left.get()) cout << n->key << ' ' << n->size << '\n';
}
