package clustertest

import (
	"sync"
	"testing"
	"time"
)

// answersOf sends every request once, so many at a time, to the gateways in turn.
func answersOf(t testing.TB, nodes []*Node, requests []*Request, atATime int) []Answer {
	t.Helper()
	client := NewClient(atATime)
	defer client.HTTP.CloseIdleConnections()
	answers := make([]Answer, len(requests))
	next := make(chan int, len(requests))
	for i := range requests {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	for range atATime {
		all.Go(func() {
			for i := range next {
				a, err := client.Do(t.Context(), nodes[i%len(nodes)].URL, requests[i])
				if err != nil {
					t.Errorf("request %d, %s %v: %v", i, requests[i].Path, requests[i].Body, err)
				}
				answers[i] = a
			}
		})
	}
	all.Wait()
	return answers
}

// reference are the answers of one process without a cluster.
func reference(t testing.TB, requests []*Request) []Answer {
	t.Helper()
	n := Single(t)
	start := time.Now()
	answers := answersOf(t, []*Node{n}, requests, 8)
	if t.Failed() {
		t.FailNow()
	}
	t.Logf("one process: %d answers in %v", len(answers), time.Since(start).Round(time.Millisecond))
	n.end()
	return answers
}

// compare checks answers.
func compare(t testing.TB, requests []*Request, got, want []Answer) {
	t.Helper()
	for i := range want {
		if d := Differ(got[i], want[i]); d != "" {
			t.Errorf("request %d, %s %v, differs %s", i, requests[i].Path, requests[i].Body, d)
		}
	}
}

func TestAnswersOfTheClusterAreThoseOfOneProcess(t *testing.T) {
	requests := Workload(1, 200, Lengths{5, 60})
	want := reference(t, requests)
	start := time.Now()
	c := Start(t, Options{Gateways: 2, Engines: 3, TLS: true})
	t.Logf("the cluster was ready after %v", time.Since(start).Round(time.Millisecond))
	compare(t, requests, answersOf(t, c.Gateways, requests, 16), want)
	for _, n := range c.Nodes() {
		n.AtRest()
	}
}
