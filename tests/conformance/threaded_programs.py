"""Programs with threads, in every language that has threads."""

from __future__ import annotations

BRACES = "public class Main {{ public static void main(String[] a) throws Exception {{ {} }} }}"

_IN_PYTHON = """import threading
a, b = map(int, input().split())
lock, done, parts = threading.Lock(), threading.Semaphore(0), []
def work(part):
    block = bytearray(16 << 20)
    for i in range(0, len(block), 4096):
        block[i] = 1
    with lock:
        parts.append(part + sum(block[::4096]) - 4096)
    done.release()
threads = [threading.Thread(target=work, args=(part,)) for part in (a, b, 0, 0)]
for thread in threads: thread.start()
for thread in threads: done.acquire()
for thread in threads: thread.join()
print(sum(parts))
"""
THREADED = {
    "python": _IN_PYTHON,
    "pypy": _IN_PYTHON,
    "java": """import java.util.*;
import java.util.concurrent.*;
public class Main {
  public static void main(String[] none) throws Exception {
    Scanner in = new Scanner(System.in);
    long[] numbers = {in.nextLong(), in.nextLong(), 0, 0};
    ExecutorService pool = Executors.newFixedThreadPool(4);
    List<Future<Long>> parts = new ArrayList<>();
    for (long part : numbers) parts.add(pool.submit(() -> {
      byte[] block = new byte[16 << 20];
      long sum = part - 4096;
      for (int i = 0; i < block.length; i += 4096) { block[i] = 1; sum += block[i]; }
      return sum;
    }));
    long all = 0;
    for (Future<Long> part : parts) all += part.get();
    pool.shutdown();
    pool.awaitTermination(9, TimeUnit.SECONDS);
    System.out.println(all);
  }
}
""",
    "rust": """use std::io::Read;
use std::sync::{mpsc, Arc, Condvar, Mutex};
use std::thread;
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let mut numbers: Vec<i64> = text.split_whitespace().map(|token| token.parse().unwrap()).collect();
    numbers.extend([0, 0]);
    let finished = Arc::new((Mutex::new(0), Condvar::new()));
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = numbers.into_iter().map(|part| {
        let (sender, finished) = (sender.clone(), finished.clone());
        thread::spawn(move || {
            let mut block = vec![0u8; 16 << 20];
            for i in (0..block.len()).step_by(4096) { block[i] = 1; }
            let touched: i64 = block.iter().step_by(4096).map(|&x| x as i64).sum();
            sender.send(part + touched - 4096).unwrap();
            *finished.0.lock().unwrap() += 1;
            finished.1.notify_all();
        })
    }).collect();
    let mut count = finished.0.lock().unwrap();
    while *count < 4 { count = finished.1.wait(count).unwrap(); }
    drop(count);
    for thread in threads { thread.join().unwrap(); }
    drop(sender);
    println!("{}", receiver.iter().sum::<i64>());
}
""",
    "go": """package main
import (
	"fmt"
	"sync"
	"time"
)
func main() {
	var a, b int64
	fmt.Scan(&a, &b)
	parts := make(chan int64, 4)
	var group sync.WaitGroup
	for _, part := range []int64{a, b, 0, 0} {
		group.Add(1)
		go func(part int64) {
			defer group.Done()
			block := make([]byte, 16<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
				part += int64(block[i])
			}
			time.Sleep(time.Millisecond)
			parts <- part - 4096
		}(part)
	}
	group.Wait()
	close(parts)
	var all int64
	for part := range parts {
		all += part
	}
	fmt.Println(all)
}
""",
}

THREADS = {
    "python": """
import sys, threading
sys.setrecursionlimit(1 << 20)
def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
def main():
    deep(20000)
    print(sum(map(int, input().split())))
threading.stack_size(64 << 20)
thread = threading.Thread(target=main)
thread.start()
thread.join()
""",
    "rust": """
fn deep(n: u64) -> u64 {
    let mut x = 0;
    unsafe { std::ptr::write_volatile(&mut x, n); }
    if n == 0 { 0 } else { 1 + deep(n - 1) + x - n }
}
fn main() {
    std::thread::Builder::new().stack_size(128 << 20).spawn(|| {
        let mut s = String::new();
        std::io::stdin().read_line(&mut s).unwrap();
        assert!(deep(500000) == 500000);
        println!("{}", s.split_whitespace().map(|x| x.parse::<i64>().unwrap()).sum::<i64>());
    }).unwrap().join().unwrap();
}
""",
    "go": """package main
import "fmt"
func main() {
    var a, b int64
    fmt.Scan(&a, &b)
    sum := make(chan int64)
    for i := 0; i < 1000; i++ { go func() { sum <- 0 }() }
    go func() { sum <- a + b }()
    total := int64(0)
    for i := 0; i <= 1000; i++ { total += <-sum }
    fmt.Println(total)
}
""",
}
