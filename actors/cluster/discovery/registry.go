package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/cluster/clusterproviders/etcd"
	"github.com/rs/zerolog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// membersKey is the last part of a cluster's prefix, and the cluster's name as protoactor's
// provider sees it. Keys are PREFIX/CLUSTER/members:/members:@INCARNATION. The provider takes
// every key that begins with PREFIX/CLUSTER/members: as a member; neither PREFIX nor an
// escaped CLUSTER has a colon, so those are our own keys only.
const membersKey = "members:"

// registry is the provider for etcd. It runs protoactor's provider as a client, which lists
// and watches the members, and keeps this node's own entry in etcd itself, because
// protoactor's loses it (docs/decisions/0028-discovery.md).
//
// Whatever goes wrong ends the session: a call that fails, a lease that is lost, a watch that
// ends. The next one begins with everything new: connection, lease, entry, list, watch.
type registry struct {
	at       etcdAt
	cluster  string
	lease    time.Duration
	interval time.Duration
	log      zerolog.Logger

	cancel context.CancelFunc
	done   chan struct{}
}

var _ cluster.ClusterProvider = (*registry)(nil)

// StartMember does not wait for etcd, which may be down.
func (r *registry) StartMember(c *cluster.Cluster) error {
	r.start(c, true)
	return nil
}

// StartClient finds the members without being one.
func (r *registry) StartClient(c *cluster.Cluster) error {
	r.start(c, false)
	return nil
}

// Shutdown removes the entry, if etcd answers within a second, and waits for the session.
func (r *registry) Shutdown(bool) error {
	r.cancel()
	<-r.done
	return nil
}

func (r *registry) start(c *cluster.Cluster, member bool) {
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		r.run(ctx, c, member)
	}()
}

func (r *registry) run(ctx context.Context, c *cluster.Cluster, member bool) {
	log := r.log.With().Strs("etcd", r.at.endpoints).Logger()
	failing := false
	for {
		err := r.session(ctx, c, member, func() {
			if failing {
				log.Info().Msg("cluster-join: etcd can be used again")
			}
			failing = false
		})
		if ctx.Err() != nil {
			return
		}
		if !failing {
			log.Warn().Str("cause", err.Error()).Msg("cluster-join: etcd cannot be used; known peers are kept, and etcd is tried again")
		}
		failing = true
		wait(ctx, r.interval)
	}
}

// session follows the members until something fails or ctx is done. It calls began when the
// members are listed.
func (r *registry) session(ctx context.Context, c *cluster.Cluster, member bool, began func()) error {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   r.at.endpoints,
		DialTimeout: answerTime,
		// Finds a connection that is dead without having been closed. Servers allow a ping
		// each five seconds.
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 5 * time.Second,
		Logger:               zap.NewNop(),
	})
	if err != nil {
		return err
	}
	defer client.Close()
	base := r.at.prefix + "/" + url.QueryEscape(r.cluster)
	var lost <-chan struct{}
	if member {
		entry := entry{client: client, ttl: r.lease}
		defer entry.remove(ctx) // also if put fails half-way
		if lost, err = entry.put(ctx, base, c); err != nil {
			return noAnswer(err)
		}
	}
	v := newView(ctx, client, base)
	provider, err := etcd.NewWithConfig(base, clientv3.Config{}, etcd.WithEtcdClient(client))
	if err != nil {
		return err
	}
	if err = provider.StartClient(c); err == nil {
		began()
		select {
		case <-ctx.Done():
		case <-lost:
			err = errors.New("the lease of the node's entry has expired")
		case err = <-v.broken:
		}
		v.halt()
	}
	_ = provider.Shutdown(true) // talks to the view only
	v.release()
	return noAnswer(err)
}

// noAnswer says what a deadline means here.
func noAnswer(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", answerTime)
	}
	return err
}

// entry is this node's entry in etcd and the lease that it depends on.
type entry struct {
	client *clientv3.Client
	ttl    time.Duration
	lease  clientv3.LeaseID // NoLease until it is granted
}

// put writes the entry and keeps its lease alive. lost is closed when the lease has expired,
// and after ctx is done.
func (e *entry) put(ctx context.Context, base string, c *cluster.Cluster) (lost <-chan struct{}, err error) {
	within, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	lease, err := e.client.Grant(within, int64(e.ttl/time.Second))
	if err != nil {
		return nil, err
	}
	e.lease = lease.ID
	host, port, err := c.ActorSystem.GetHostPort()
	if err != nil {
		return nil, err
	}
	id := membersKey + "@" + c.ActorSystem.ID // as protoactor's provider calls itself
	node := etcd.NewNode(id, host, port, nil)
	value, err := node.Serialize()
	if err != nil {
		return nil, err
	}
	if _, err = e.client.Put(within, base+"/"+membersKey+"/"+id, string(value), clientv3.WithLease(e.lease)); err != nil {
		return nil, err
	}
	alive, err := e.client.KeepAlive(ctx, e.lease)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range alive {
		}
	}()
	return ended, nil
}

// remove takes the entry from etcd when the node stops. Between two sessions it stays: the
// next one writes it again, with a new lease.
func (e *entry) remove(ctx context.Context) {
	if ctx.Err() == nil || e.lease == clientv3.NoLease {
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = e.client.Revoke(within, e.lease) // it expires anyway
}

// addressOf gives the address of a node's entry; ok is false if it cannot be dialled.
func addressOf(n *etcd.Node) (address string, ok bool) {
	host, port := n.GetAddress()
	address, err := hostPort(net.JoinHostPort(host, strconv.Itoa(port)))
	return address, err == nil
}
