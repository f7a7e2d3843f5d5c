long long pull(long long load) {
    return load / 2;
}
