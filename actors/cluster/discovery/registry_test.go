//go:build linux

package discovery

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/cluster/clusterproviders/etcd"
	"github.com/rs/zerolog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// node is a discovery and what it says.
type node struct {
	t     *testing.T
	name  string
	d     *Discovery
	lists chan []string
	logs  chan string
	last  []string
}

const patience = 20 * time.Second

// join starts a node with a lease of a second and an address named after it.
func (s *server) join(name string, change ...func(*Options)) *node {
	s.t.Helper()
	n := &node{t: s.t, name: name, lists: make(chan []string, 1000), logs: make(chan string, 1000)}
	opt := Options{
		Cluster: "eng", Incarnation: name, Address: name + ":1", Join: []string{"etcd://" + s.address + "/troupe"},
		Interval: 100 * time.Millisecond, Log: zerolog.New(lines(n.logs)), lease: time.Second,
	}
	for _, c := range change {
		c(&opt)
	}
	var err error
	if n.d, err = Start(opt, func(list []string) { n.lists <- list }); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(n.stop)
	return n
}

type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

func (n *node) stop() {
	if n.d != nil {
		n.d.Stop()
		n.d = nil
	}
}

// sees waits for a list. Nothing may vanish on the way, unless lessThan allows it.
func (n *node) sees(addresses ...string) { n.t.Helper(); n.follow(addresses, false) }

func (n *node) follow(want []string, mayVanish bool) {
	n.t.Helper()
	late := time.After(patience)
	for !slices.Equal(n.last, want) {
		select {
		case list := <-n.lists:
			for _, a := range n.last {
				if !mayVanish && !slices.Contains(list, a) {
					n.t.Errorf("%s: %s has vanished; list %q", n.name, a, list)
				}
			}
			n.last = list
		case <-late:
			n.t.Fatalf("%s sees %q, want %q", n.name, n.last, want)
		}
	}
}

// unchanged checks that there was no call since the last one.
func (n *node) unchanged() {
	n.t.Helper()
	for len(n.lists) > 0 {
		if list := <-n.lists; !slices.Equal(list, n.last) {
			n.t.Errorf("%s: the list became %q, it was %q", n.name, list, n.last)
		}
	}
}

func (n *node) logsLine(text string) {
	n.t.Helper()
	late := time.After(patience)
	for {
		select {
		case line := <-n.logs:
			if strings.Contains(line, text) {
				return
			}
		case <-late:
			n.t.Fatalf("%s does not log %q", n.name, text)
		}
	}
}

// etcd goes away for longer than the leases: by a crash, and frozen. Nothing is withdrawn,
// nodes that start meanwhile and afterwards are found, and all entries are back.
func TestEtcdOutage(t *testing.T) {
	for name, outage := range map[string]struct{ begin, end func(*server) }{
		"crash":  {(*server).kill, (*server).start},
		"frozen": {func(s *server) { s.signal(syscall.SIGSTOP) }, func(s *server) { s.signal(syscall.SIGCONT); s.answers() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startEtcd(t)
			a, b, c := s.join("a"), s.join("b"), s.join("c")
			a.sees("b:1", "c:1")
			b.sees("a:1", "c:1")
			c.sees("a:1", "b:1")

			begin := time.Now()
			outage.begin(s)
			for _, n := range []*node{a, b, c} {
				n.logsLine("etcd cannot be used") // the lease has expired
				n.unchanged()
			}
			d := s.join("d")
			d.sees()
			d.logsLine("etcd cannot be used")
			if os.Getenv("TROUPE_SOAK") == "1" {
				<-time.After(30*time.Second - time.Since(begin))
			}
			outage.end(s)

			a.sees("b:1", "c:1", "d:1")
			b.sees("a:1", "c:1", "d:1")
			c.sees("a:1", "b:1", "d:1")
			d.sees("a:1", "b:1", "c:1")
			for _, n := range []*node{a, b, c, d} {
				n.logsLine("etcd can be used again")
			}
			e := s.join("e")
			e.sees("a:1", "b:1", "c:1", "d:1")
			for _, n := range []*node{a, b, c, d} {
				n.follow(append(slices.Clone(n.last), "e:1"), false)
			}
			if n := s.keys("/troupe/eng/"); n != 5 {
				t.Errorf("etcd has %d entries, want 5", n)
			}
		})
	}
}

// A node that stops leaves at once, not when its lease expires. One with the incarnation of
// a node that has left is found again.
func TestEtcdLeaving(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	long := func(o *Options) { o.lease, o.linger = time.Hour, time.Millisecond }
	a, b := s.join("a", long), s.join("b", long)
	a.sees("b:1")
	b.stop()
	a.follow(nil, true)
	if n := s.keys("/troupe/eng/"); n != 1 {
		t.Errorf("etcd has %d entries, want 1", n)
	}
	s.join("b", long)
	a.sees("b:1")
	s.join("b2", long, func(o *Options) { o.Address = "[fd00::1]:2" })
	a.sees("[fd00::1]:2", "b:1")
}

// A cluster sees no other one whose name or prefix begins alike, and no entry of anyone else.
func TestEtcdForeignEntries(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	entry := func(id, host string, port int) string {
		text, err := etcd.NewNode(id, host, port, nil).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for i, value := range []string{"", "garbage", "{}", `{"id":`, entry("members:@other", "x", 1), entry("x0", "x", 0), entry("x0", "a b", 1), entry("x0", "x", 70000)} {
		s.put(fmt.Sprintf("/troupe/eng/members:/x%d", i), value)
	}
	a := s.join("a")
	for name, change := range map[string]func(*Options){
		"a2": func(o *Options) { o.Cluster = "eng2" },
		"a3": func(o *Options) { o.Cluster = "eng/members:" },
		"a4": func(o *Options) { o.Join[0] += "/eng" },
		"a5": func(o *Options) { o.Join[0] += "/eng/members" },
	} {
		s.join(name, change).sees()
	}
	s.put("/troupe/eng/members:/x8", "garbage")
	s.put("/troupe/eng/members:/members:@i", entry("members:@i", "i", 1)) // one like ours
	s.join("b").sees("a:1", "i:1")
	a.sees("b:1", "i:1")
}

// hooked calls before once, when a watch is about to begin.
type hooked struct {
	clientv3.Watcher
	before func()
}

func (h *hooked) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	h.before()
	return h.Watcher.Watch(ctx, key, opts...)
}

// watchAfter runs protoactor's provider on a view, with something done between its list and
// its watch. It gives what the provider publishes.
func (s *server) watchAfter(before func()) (*view, chan []string) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.address}, Logger: zap.NewNop()})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	client.Watcher = &hooked{client.Watcher, before}
	v := newView(ctx, client, "/troupe/eng")
	provider, err := etcd.NewWithConfig("/troupe/eng", clientv3.Config{}, etcd.WithEtcdClient(client))
	if err != nil {
		s.t.Fatal(err)
	}
	published := make(chan []string, 100)
	c := newCluster(Options{Incarnation: "i", Address: "i:1"}, membersKey, provider, func(list []string) { published <- list })
	if err := provider.StartClient(c); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		v.halt()
		_ = provider.Shutdown(true)
		v.release()
		cancel()
		_ = client.Close()
	})
	return v, published
}

// protoactor's provider alone misses who joins between its list and its watch.
func TestEtcdJoinsBeforeTheWatch(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	_, published := s.watchAfter(func() {
		s.put("/troupe/eng/members:/members:@b", `{"id":"members:@b","host":"b","port":1,"alive":true}`)
	})
	select {
	case list := <-published:
		if !slices.Equal(list, []string{"b:1"}) {
			t.Errorf("published %q", list)
		}
	case <-time.After(patience):
		t.Error("the node that joined in between is missing")
	}
}

// The events after the list may be compacted away. Then the session must end.
func TestEtcdCompaction(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	v, _ := s.watchAfter(func() {
		s.put("/x", "1")
		s.put("/x", "2")
		err := s.try(func(ctx context.Context) error {
			now, err := s.client.Get(ctx, "/x")
			if err == nil {
				_, err = s.client.Compact(ctx, now.Header.Revision)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	select {
	case err := <-v.broken:
		if !strings.Contains(err.Error(), "compacted") {
			t.Errorf("error %v", err)
		}
	case <-time.After(patience):
		t.Error("the session goes on without events")
	}
}

// Sessions come and go; none may leave goroutines.
func TestEtcdLeavesNoGoroutines(t *testing.T) {
	s := startEtcd(t)
	a, b := s.join("a"), s.join("b")
	a.sees("b:1")
	for range 2 {
		s.kill()
		a.logsLine("etcd cannot be used")
		s.start()
		a.logsLine("etcd can be used again")
	}
	a.stop()
	b.stop()
	ours := func() (found []string) {
		stacks := make([]byte, 1<<20)
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "clusterproviders") || strings.Contains(stack, "cluster/discovery.(*") && !strings.Contains(stack, "_test.go") {
				found = append(found, stack)
			}
		}
		return found
	}
	late := time.After(patience)
	for tick := time.Tick(10 * time.Millisecond); len(ours()) > 0; {
		select {
		case <-tick:
		case <-late:
			t.Fatalf("these run on:\n%s", strings.Join(ours(), "\n\n"))
		}
	}
}
