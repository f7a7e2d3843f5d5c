using System;
using System.Linq;

class Sum {
    static void Main() {
        Console.WriteLine(Console.ReadLine().Split().Select(long.Parse).Sum());
    }
}
