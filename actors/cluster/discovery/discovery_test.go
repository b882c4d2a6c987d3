package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/cluster"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/testkit/locked"
)

// dns is a resolver whose answers a test changes while discovery runs.
type dns struct {
	lock    sync.Mutex
	answers map[string]answering
}

type answering func(ctx context.Context) ([]netip.Addr, error)

func (d *dns) set(host string, a answering) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.answers == nil {
		d.answers = map[string]answering{}
	}
	d.answers[host] = a
}

func (d *dns) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if network != "ip" {
		return nil, fmt.Errorf("network %q", network)
	}
	time.Sleep(time.Millisecond)
	d.lock.Lock()
	a := d.answers[host]
	d.lock.Unlock()
	return a(ctx)
}

func are(ips ...string) answering {
	return func(context.Context) (list []netip.Addr, _ error) {
		for _, ip := range ips {
			list = append(list, netip.MustParseAddr(ip))
		}
		return list, nil
	}
}

func fails(context.Context) ([]netip.Addr, error) { return nil, errors.New("no such host") }

func hangs(ctx context.Context) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// calls are the lists that found got.
type calls struct {
	lock sync.Mutex
	got  []string
}

func (c *calls) found(list []string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.got = append(c.got, strings.Join(list, " "))
}

// want waits d, then until discovery is idle, and compares the calls since the last time.
func (c *calls) want(t *testing.T, d time.Duration, lists ...string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	c.lock.Lock()
	defer c.lock.Unlock()
	if !slices.Equal(c.got, lists) {
		t.Errorf("found was called with %q, want %q", c.got, lists)
	}
	c.got = nil
}

func begin(t *testing.T, c *calls, opt Options) *Discovery {
	t.Helper()
	opt.Cluster, opt.Incarnation, opt.Address = "c", "i1", "10.0.0.9:1"
	d, err := Start(opt, c.found)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestFixedAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls
		d := begin(t, &c, Options{Join: []string{"b:2", "10.0.0.9:1", "a:1", "B:2"}})
		c.want(t, 0, "a:1 b:2")
		c.want(t, time.Hour)
		d.Stop()
		c.want(t, 0)
	})
}

func TestNobodyToJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls
		d := begin(t, &c, Options{})
		c.want(t, 0, "")
		d.Stop()
		c.want(t, 0)
	})
}

func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls
		var log locked.Buffer
		var names dns
		names.set("n", are("10.0.0.9", "10.0.0.2", "fd00::1", "::ffff:10.0.0.3"))
		d := begin(t, &c, Options{Join: []string{"dns:n:1", "a:1"}, Resolver: &names, Log: zerolog.New(&log)})
		c.want(t, 10*time.Millisecond, "a:1", "10.0.0.2:1 10.0.0.3:1 [fd00::1]:1 a:1")

		// A failure changes nothing, however long it takes, and is logged once.
		for _, failure := range []answering{fails, hangs, are()} {
			names.set("n", failure)
			c.want(t, time.Hour)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "no such host") {
			t.Errorf("log %q, want one line with the cause", log.String())
		}

		// It works again: one more line, new addresses at once, the old ones stay a minute.
		names.set("n", are("10.0.0.2", "10.0.0.4"))
		c.want(t, 2*time.Second, "10.0.0.2:1 10.0.0.3:1 10.0.0.4:1 [fd00::1]:1 a:1")
		if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "works again") {
			t.Errorf("log %q, want a second line", log.String())
		}
		c.want(t, 57*time.Second)
		c.want(t, 5*time.Second, "10.0.0.2:1 10.0.0.4:1 a:1")

		// An address that comes back is proposed again.
		names.set("n", are("10.0.0.2", "10.0.0.3", "10.0.0.4"))
		c.want(t, 2*time.Second, "10.0.0.2:1 10.0.0.3:1 10.0.0.4:1 a:1")
		d.Stop()
		names.set("n", are("10.0.0.5"))
		c.want(t, time.Hour)
	})
}

// A server that does not answer for one name delays no other, nor Stop.
func TestSlowName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls
		var names dns
		names.set("slow", hangs)
		names.set("fast", are("10.0.0.2"))
		d := begin(t, &c, Options{Join: []string{"dns:slow:1", "dns:fast:1"}, Resolver: &names})
		c.want(t, 10*time.Millisecond, "", "10.0.0.2:1")
		names.set("fast", are("10.0.0.2", "10.0.0.3"))
		c.want(t, 1100*time.Millisecond, "10.0.0.2:1 10.0.0.3:1")
		before := time.Now()
		d.Stop()
		if took := time.Since(before); took != 0 {
			t.Errorf("Stop took %v", took)
		}
	})
}

// A caller that takes its time misses no list, and is never called twice at once.
func TestSlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls
		var names dns
		names.set("n", are("10.0.0.2"))
		var running atomic.Int32
		d, err := Start(Options{Cluster: "c", Incarnation: "i", Address: "a:1", Join: []string{"dns:n:1"}, Resolver: &names}, func(list []string) {
			if running.Add(1) > 1 {
				t.Error("found runs twice at once")
			}
			time.Sleep(10 * time.Second)
			c.found(list)
			running.Add(-1)
		})
		if err != nil {
			t.Fatal(err)
		}
		c.want(t, 15*time.Second, "")
		names.set("n", are("10.0.0.2", "10.0.0.3"))
		c.want(t, time.Minute, "10.0.0.2:1", "10.0.0.2:1 10.0.0.3:1")
		names.set("n", are("10.0.0.4"))
		time.Sleep(2 * time.Second) // found is called now
		d.Stop()
		c.want(t, 0, "10.0.0.2:1 10.0.0.3:1 10.0.0.4:1")
	})
}

func TestStartRefuses(t *testing.T) {
	good := Options{Cluster: "c", Incarnation: "i", Address: "a:1"}
	for want, change := range map[string]func(*Options){
		"cluster-join has the entry":           func(o *Options) { o.Join = []string{"x"} },
		"own address":                          func(o *Options) { o.Address = "a" },
		"the cluster has no name":              func(o *Options) { o.Cluster = "" },
		`the incarnation "" must consist of`:   func(o *Options) { o.Incarnation = "" },
		`the incarnation "a/b" must consist o`: func(o *Options) { o.Incarnation = "a/b" },
	} {
		opt := good
		change(&opt)
		if _, err := Start(opt, func([]string) { t.Error("found was called") }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// protoactor's member list never shows a member again that has left it; ours must.
func TestMembersComeBack(t *testing.T) {
	var got []string
	c := newCluster(Options{Incarnation: "i", Address: "own:1"}, "n", nil, func(list []string) { got = append(got, strings.Join(list, " ")) })
	for _, list := range []string{"a:1 b:1", "a:1 b:1", "a:1", "a:1 b:1", "", "[::1]:1 b:1"} {
		var members cluster.Members
		for a := range strings.FieldsSeq(list) {
			members = append(members, member(a))
		}
		c.MemberList.UpdateClusterTopology(members)
	}
	for i, list := range got {
		sorted := strings.Fields(list)
		slices.Sort(sorted)
		got[i] = strings.Join(sorted, " ")
	}
	if want := []string{"a:1 b:1", "a:1", "a:1 b:1", "", "[::1]:1 b:1"}; !slices.Equal(got, want) {
		t.Errorf("published %q, want %q", got, want)
	}
}
