package clustertest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

var (
	portsMu sync.Mutex
	given   = map[int]bool{}
)

// freePort is a port that is free now, and that the system gives to no outgoing connection:
// a process that is started again needs the same one. host is an address of this machine.
func freePort(t testing.TB, host string) int {
	t.Helper()
	portsMu.Lock()
	defer portsMu.Unlock()
	for range 1000 {
		port := 15000 + rand.IntN(16000) // the system's own begin at 32768
		if given[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		l.Close()
		given[port] = true
		return port
	}
	t.Fatal("no port is free")
	return 0
}
