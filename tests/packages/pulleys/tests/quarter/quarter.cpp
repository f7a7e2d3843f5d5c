long long pull(long long load) {
    return load / 4;
}

int main() {
    return pull(4) != 1;
}
