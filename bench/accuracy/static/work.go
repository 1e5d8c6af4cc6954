// work N: N rounds of three kinds of work, as work.c and work.rs.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

func sieve(n int) int {
	composite := make([]bool, n+1)
	count := 0
	for i := 2; i <= n; i++ {
		if composite[i] {
			continue
		}
		count++
		for j := i * i; j <= n; j += i {
			composite[j] = true
		}
	}
	return count
}

func words(n int) int {
	counts := map[string]int{}
	for i := 0; i < n; i++ {
		counts["w"+strconv.Itoa(i*7919%1009)]++
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, strings.ToUpper(name))
	}
	sort.Strings(names)
	return len(names)
}

func collatz(n int) int {
	longest := 0
	for i := 1; i < n; i++ {
		steps := 0
		for v := i; v != 1; steps++ {
			if v%2 == 0 {
				v /= 2
			} else {
				v = 3*v + 1
			}
		}
		if steps > longest {
			longest = steps
		}
	}
	return longest
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	for i := 0; i < rounds; i++ {
		fmt.Println(sieve(200000), words(20000), collatz(20000))
	}
}
