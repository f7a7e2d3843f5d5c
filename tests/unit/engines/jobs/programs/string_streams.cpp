#include <bits/stdc++.h>
using namespace std;

int main() {
    string line;
    map<string, vector<double>> rows;
    while (getline(cin, line)) {
        if (line.empty() || line.front() == '#') continue;
        istringstream in(line);
        string key, cell;
        getline(in, key, ',');
        while (getline(in >> ws, cell, ',')) {
            stringstream one;
            double value;
            one << cell;
            if (one >> value && one.eof()) rows[key].push_back(value);
        }
        if (in.bad()) return 1;
    }
    ostringstream out;
    for (auto& row : rows) {
        out << setw(8) << left << row.first << '|' << right << fixed << setprecision(3);
        copy(row.second.begin(), row.second.end(), ostream_iterator<double>(out, ";"));
        out << '\n';
    }
    string all = out.str();
    cout << all << all.size() << endl;
    out.str("");
    out.clear();
    out << hex << showbase << 255 << oct << 8 << boolalpha << true;
    cerr << out.str() << flush;
}
