package node

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/cluster/identity"
	"github.com/troupe-engine/troupe/actors/cluster/transport"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/configs"
)

// lookInterval is the time between two looks at certificates that no connection needs.
const lookInterval = time.Hour

// checkCluster tries the certificates and the port for other nodes. Loading a model may take
// minutes, so what is wrong with them is told before.
func (n *Node) checkCluster(context.Context) error {
	k := &n.Config().Cluster
	if !k.On() {
		return nil
	}
	if k.Secure() {
		if _, err := loadIdentity(k); err != nil {
			return err
		}
	}
	l, err := httpapi.ListenTCP(k.Listen)
	if err != nil {
		return aboutListen(err)
	}
	return l.Close()
}

func loadIdentity(k *configs.Cluster) (*identity.Identity, error) {
	return identity.Load(identity.Files{CA: k.CA, Cert: k.Cert, Key: k.Key}, k.Name)
}

func aboutListen(err error) error {
	return configs.About(fmt.Errorf("cluster-listen: %w", err), "cluster-listen")
}

// identify sets the credentials of a node with certificates.
func (g *clustered) identify(opt *transport.Options) error {
	id, err := loadIdentity(&g.node.Config().Cluster)
	if err != nil {
		return err
	}
	id.Notify(notices(g.node.opt.Log))
	opt.Credentials = id.Credentials()
	stop := make(chan struct{})
	g.stopLooking = func() { close(stop) }
	go func() {
		tick := time.NewTicker(lookInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				id.Look()
			case <-stop:
				return
			}
		}
	}()
	return nil
}

// notices log what happens to certificates.
func notices(log zerolog.Logger) identity.Notices {
	// A peer may try again and again.
	refused := log.Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Minute})
	return identity.Notices{
		Renewed: func(until time.Time) {
			log.Info().Time("until", until).Msg("the certificate of this node was renewed")
		},
		NotRenewed: func(err error) {
			log.Error().Err(err).Msg("the renewed certificate cannot be used; the old one stays in use")
		},
		Expiring: func(until time.Time) {
			log.Warn().Time("until", until).Msg("the certificate of this node expires soon; renew it with troupe cluster certs")
		},
		Expired: func(until time.Time) {
			log.Error().Msgf("the certificate of this node expired on %s; open links go on, new ones cannot open; renew it with troupe cluster certs", until.UTC().Format("2006-01-02 15:04 UTC"))
		},
		Refused: func(peer net.Addr, err error) {
			refused.Warn().Stringer("peer", peer).Err(err).Msg("another node was refused")
		},
	}
}
