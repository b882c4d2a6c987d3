package discovery

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/asynkron/protoactor-go/cluster"
	"github.com/rs/zerolog"
)

// answerTime bounds a lookup, and a call to etcd.
const answerTime = 3 * time.Second

// Resolver looks a name up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// lookups is the provider for fixed addresses and names in DNS. It registers this node
// nowhere, so that a member and a client are the same to it.
type lookups struct {
	fixed    []string
	names    []name
	resolver Resolver
	interval time.Duration
	log      zerolog.Logger

	cancel context.CancelFunc
	done   chan struct{}
}

var _ cluster.ClusterProvider = (*lookups)(nil)

// answer holds the addresses of one name.
type answer struct {
	name      int
	addresses []string
}

// StartMember publishes the fixed addresses before it returns.
func (l *lookups) StartMember(c *cluster.Cluster) error {
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	l.done = make(chan struct{})
	l.publish(c, nil)
	go l.run(ctx, c)
	return nil
}

func (l *lookups) StartClient(c *cluster.Cluster) error { return l.StartMember(c) }

// Shutdown waits for the lookups, which end at once.
func (l *lookups) Shutdown(bool) error {
	l.cancel()
	<-l.done
	return nil
}

// run gathers the answers for all names. Each name has a goroutine of its own, so that a slow
// server delays its own names only.
func (l *lookups) run(ctx context.Context, c *cluster.Cluster) {
	defer close(l.done)
	answers, ended := make(chan answer), make(chan struct{})
	for i := range l.names {
		go func() {
			l.follow(ctx, i, answers)
			ended <- struct{}{}
		}()
	}
	found := make([][]string, len(l.names))
	for running := len(l.names); running > 0; {
		select {
		case a := <-answers:
			found[a.name] = a.addresses
			l.publish(c, found)
		case <-ended:
			running--
		}
	}
}

// follow looks a name up again and again. A failure leaves the last answer as it is.
func (l *lookups) follow(ctx context.Context, index int, answers chan<- answer) {
	n, failing := l.names[index], false
	log := l.log.With().Str("name", n.host).Logger()
	for ctx.Err() == nil {
		addresses, err := l.lookUp(ctx, n)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			log.Warn().Str("cause", err.Error()).Msg("cluster-join: the DNS lookup fails; the last answer is kept and the lookup repeated")
		case err == nil && failing:
			log.Info().Strs("addresses", addresses).Msg("cluster-join: the DNS lookup works again")
		}
		if failing = err != nil; !failing {
			select {
			case answers <- answer{index, addresses}:
			case <-ctx.Done():
			}
		}
		wait(ctx, l.interval)
	}
}

func (l *lookups) lookUp(ctx context.Context, n name) (addresses []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ips, err := l.resolver.LookupNetIP(ctx, "ip", n.host)
	if err != nil {
		return nil, err
	}
	for _, ip := range ips[:min(len(ips), maxPeers)] {
		addresses = append(addresses, net.JoinHostPort(ip.Unmap().String(), n.port))
	}
	if len(addresses) == 0 {
		return nil, errors.New("the name has no address")
	}
	return addresses, nil
}

func (l *lookups) publish(c *cluster.Cluster, found [][]string) {
	seen := map[string]bool{}
	var members cluster.Members
	for _, list := range append([][]string{l.fixed}, found...) {
		for _, a := range list {
			if !seen[a] {
				seen[a] = true
				members = append(members, member(a))
			}
		}
	}
	c.MemberList.UpdateClusterTopology(members)
}

// wait returns after d, or when ctx is done.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
