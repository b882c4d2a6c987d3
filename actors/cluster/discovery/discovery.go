package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/cluster"
	"github.com/rs/zerolog"
)

// Options says who this node is and where to look for the others.
type Options struct {
	// Cluster is the name of the cluster. In etcd, only nodes of the same cluster meet.
	Cluster string
	// Incarnation names this process among all that ever ran: letters, digits, hyphens and
	// underscores.
	Incarnation string
	// Address is this node's own, host:port as the others reach it. It is never proposed.
	Address string
	// Join has the entries of the setting cluster-join. Empty: nothing is proposed.
	Join []string
	Log  zerolog.Logger
	// Interval is the time from one lookup of a name to the next, and between attempts to
	// reach etcd. 0: one second.
	Interval time.Duration
	// Resolver is for tests. nil: the system's.
	Resolver Resolver

	linger time.Duration // see proposals; 0: one minute
	lease  time.Duration // of this node's entry in etcd, whole seconds; 0: ten seconds
}

// Discovery is running until Stop.
type Discovery struct {
	sources []*cluster.Cluster
	reports chan report
	cancel  context.CancelFunc
	done    chan struct{}
}

// report is what one source knows now.
type report struct {
	source    int
	addresses []string
}

// Start begins to propose. found is called by one goroutine, never concurrently: once at the
// start, and at each change, with all addresses in order. The slice belongs to it. The first
// list has the fixed addresses; those of DNS and etcd come as soon as they are known. An
// address stays on the list for a minute after DNS or etcd has stopped naming it.
//
// found must not call Stop. Start does no IO and fails on wrong Options only.
func Start(opt Options, found func(addresses []string)) (*Discovery, error) {
	join, err := parse(opt.Join)
	if err != nil {
		return nil, err
	}
	if opt.Address, err = hostPort(opt.Address); err != nil {
		return nil, fmt.Errorf("the node's own address %q: %w", opt.Address, err)
	}
	if opt.Cluster == "" {
		return nil, errors.New("the cluster has no name; set cluster-name")
	}
	if opt.Incarnation == "" || strings.ContainsFunc(opt.Incarnation, func(r rune) bool { return !isWord(r) }) {
		return nil, fmt.Errorf("the incarnation %q must consist of letters, digits, hyphens and underscores", opt.Incarnation)
	}
	opt.defaults()
	ctx, cancel := context.WithCancel(context.Background())
	d := &Discovery{cancel: cancel, done: make(chan struct{}), reports: make(chan report, 1+len(join.etcds))}
	// Each source costs an actor system, 3 MB.
	if len(join.fixed)+len(join.names) > 0 {
		d.add(ctx, opt, &lookups{fixed: join.fixed, names: join.names, resolver: opt.Resolver, interval: opt.Interval, log: opt.Log})
	}
	for _, at := range join.etcds {
		d.add(ctx, opt, &registry{at: at, cluster: opt.Cluster, lease: opt.lease, interval: opt.Interval, log: opt.Log})
	}
	for i, c := range d.sources {
		if err := c.Config.ClusterProvider.StartMember(c); err != nil {
			cancel()
			shutDown(d.sources[:i])
			return nil, err
		}
	}
	go d.run(ctx, opt, found)
	return d, nil
}

func (o *Options) defaults() {
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.linger == 0 {
		o.linger = time.Minute
	}
	if o.lease == 0 {
		o.lease = 10 * time.Second
	}
}

// add makes a provider a source. What it reports before run begins is buffered.
func (d *Discovery) add(ctx context.Context, opt Options, p cluster.ClusterProvider) {
	source := len(d.sources)
	d.sources = append(d.sources, newCluster(opt, membersKey, p, func(addresses []string) {
		select {
		case d.reports <- report{source, addresses}:
		case <-ctx.Done():
		}
	}))
}

func (d *Discovery) run(ctx context.Context, opt Options, found func([]string)) {
	defer close(d.done)
	begin := time.Now()
	all := newProposals(opt.Address, len(d.sources), opt.linger)
	full := false
	take := func(r report) {
		cut := all.report(r.source, r.addresses, time.Since(begin))
		if cut && !full {
			opt.Log.Warn().Int("limit", maxPeers).Msg("cluster-join names too many addresses; the rest is ignored")
		}
		full = cut
	}
	for len(d.reports) > 0 {
		take(<-d.reports)
	}
	last, next := all.list(time.Since(begin))
	found(slices.Clone(last))
	for {
		var leaves <-chan time.Time
		if next > 0 {
			leaves = time.After(next - time.Since(begin))
		}
		select {
		case <-ctx.Done():
			return
		case r := <-d.reports:
			take(r)
		case <-leaves:
		}
		var list []string
		if list, next = all.list(time.Since(begin)); !slices.Equal(list, last) {
			last = list
			found(slices.Clone(list))
		}
	}
}

// Stop ends discovery and removes this node's entry from etcd, if etcd answers within a
// second. When it returns, found is not running and is not called again.
func (d *Discovery) Stop() {
	d.cancel()
	<-d.done
	shutDown(d.sources)
}

func shutDown(sources []*cluster.Cluster) {
	for _, c := range sources {
		_ = c.Config.ClusterProvider.Shutdown(true) // ours return no error
		c.ActorSystem.Shutdown()
	}
}
