package discovery

import (
	"log/slog"
	"net"
	"strconv"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/remote"
)

// newCluster is what a provider publishes its members to: a cluster.Cluster that is never
// started, in an actor system of its own without actors. publish gets the addresses of all
// members at each change, on a goroutine of the provider.
//
// The actor system is not the node's, because a member list publishes the termination of a
// remote address for each member that leaves, which would end a link; and because the name of
// its address is not what providers can parse.
func newCluster(opt Options, name string, p cluster.ClusterProvider, publish func(addresses []string)) *cluster.Cluster {
	// Discovery logs by itself what an operator needs: each change once.
	silent := func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }
	system := actor.NewActorSystem(actor.WithLoggerFactory(silent))
	system.ID = opt.Incarnation
	system.ProcessRegistry.Address = opt.Address
	config := remote.Configure("", 0)
	c := cluster.New(system, cluster.Configure(name, p, nil, config))
	// The member list asks the remote which members are blocked.
	c.Remote = remote.NewRemote(system, config)
	system.EventStream.Subscribe(func(event any) {
		topology, ok := event.(*cluster.ClusterTopology)
		if !ok {
			return
		}
		if len(topology.Left) > 0 {
			// A member that has left is blocked for ever. A new remote has no blocked members.
			c.Remote = remote.NewRemote(system, config)
		}
		addresses := make([]string, len(topology.Members))
		for i, m := range topology.Members {
			addresses[i] = net.JoinHostPort(m.Host, strconv.Itoa(int(m.Port)))
		}
		publish(addresses)
	})
	return c
}

// member is an address as a member list has it.
func member(address string) *cluster.Member {
	host, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return &cluster.Member{Id: address, Host: host, Port: int32(n)}
}
