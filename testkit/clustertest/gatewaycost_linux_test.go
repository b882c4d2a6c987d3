package clustertest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	costStreams = 1000
	costTime    = 20 * time.Second
	// tick is the unit of processor times in /proc: 100 per second on Linux.
	tick = 10 * time.Millisecond
)

// processorTime is what a process has used.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	sum := 0
	for _, f := range fields[11:13] { // utime and stime, see proc(5)
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return time.Duration(sum) * tick
}

// resident is the memory of a process, in bytes.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return float64(kib) * 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// TestGatewayCost measures what a gateway process uses for 1,000 streams that clients read
// over HTTP: processor time for a token, memory for a stream.
func TestGatewayCost(t *testing.T) {
	onlyAlone(t)
	c := Start(t, Options{Gateways: 1, Engines: 1, Args: []string{"--max-open-requests", "2000"},
		EngineArgs: []string{"--max-running-requests", strconv.Itoa(costStreams), "--max-total-tokens", "1000000", "--cluster-peer-timeout", "10s"}})
	g := c.Gateways[0]
	empty := resident(t, g.PID())
	var all sync.WaitGroup
	var conns []net.Conn
	for i := range costStreams {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		body := fmt.Sprintf(`{"prompt": "Once upon a time", "stream": true, "max_tokens": 900, "ignore_eos": true, "seed": %d}`, i)
		r, err := http.NewRequest(http.MethodPost, g.URL+"/v1/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if err := r.Write(conn); err != nil {
			t.Fatal(err)
		}
		all.Go(func() { io.Copy(io.Discard, conn) })
	}
	const tokens = "troupe_generation_tokens_total"
	Eventually(t, "all streams run", patience, func() bool { return c.Engines[0].Metric("troupe_num_running_reqs") == costStreams })
	Eventually(t, "all streams have tokens", patience, func() bool { return g.Metric(tokens) > 5*costStreams })
	begun, used, before := time.Now(), processorTime(t, g.PID()), g.Metric(tokens)
	<-time.After(costTime)
	length, used, count := time.Since(begun), processorTime(t, g.PID())-used, g.Metric(tokens)-before
	fmt.Printf("%d streams, %.1f tokens/s each: %.2f µs of processor time a token, %.1f KiB a stream\n", costStreams,
		count/length.Seconds()/costStreams, float64(used.Microseconds())/count, (resident(t, g.PID())-empty)/costStreams/1024)
	if running := c.Engines[0].Metric("troupe_num_running_reqs"); running != costStreams {
		t.Errorf("at the end %v streams run", running)
	}
	for _, conn := range conns {
		conn.Close()
	}
	all.Wait()
}
