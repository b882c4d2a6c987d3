package transport

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
)

type Options struct {
	Listen      string // host:port; port 0 picks a free one
	Advertise   string // host:port at which peers reach this node; "": where it listens
	Incarnation string // of this process; no other one ever has it
	// Credentials prove to peers who this node is, and check who they are; nil: plain text.
	Credentials credentials.TransportCredentials
	Calls       Calls // answers calls of other nodes
	Log         zerolog.Logger
	Dial        func(ctx context.Context, address string) (net.Conn, error) // for tests; nil: TCP
}

const (
	// maxBatch bounds what a peer may send at once, in bytes. A frame is far smaller: what
	// may be large comes in pieces.
	maxBatch = 32 << 20
	// batchFrames is the most frames that are sent at once.
	batchFrames = 64
	scheme      = "troupe"
)

// Transport connects an actor system with those of other nodes. Safe for concurrent use.
type Transport struct {
	opt     Options
	system  *actor.ActorSystem
	remote  *remote.Remote
	links   *links
	clients *clients
	listen  string
	dial    []grpc.DialOption
}

// Start listens, and gives the actor system its address. Call it before actors are spawned.
func Start(system *actor.ActorSystem, opt Options) (*Transport, error) {
	// The runtime panics if it cannot listen, and does not tell which port it got.
	probe, err := net.Listen("tcp", opt.Listen)
	if err != nil {
		return nil, err
	}
	at := probe.Addr().(*net.TCPAddr)
	if err := probe.Close(); err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(opt.Listen)
	if err != nil {
		return nil, err
	}
	if strings.Contains(host, ":") { // the runtime does not quote it
		host = "[" + host + "]"
	}
	opt.Advertise = cmp.Or(opt.Advertise, at.String())
	t := &Transport{opt: opt, system: system, listen: opt.Advertise, links: newLinks(system)}
	t.dial = t.dialOptions()
	t.clients = &clients{dial: t.dial}
	system.EventStream.Subscribe(t.onEvent)
	config := remote.Configure(host, at.Port,
		remote.WithAdvertisedHost(t.Address()),
		remote.WithServerOptions(t.serverOptions()...),
		remote.WithDialOptions(t.dial...),
		remote.WithEndpointWriterBatchSize(batchFrames),
		remote.WithEndpointWriterQueueSize(batchFrames),
	)
	config.MaxRetryCount = 1 // a peer that does not answer has no link
	t.remote = remote.NewRemote(system, config)
	if err := start(t.remote); err != nil {
		return nil, err
	}
	return t, nil
}

// start turns the runtime's panic into an error.
func start(r *remote.Remote) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	r.Start()
	return nil
}

// Stop closes the port and all connections. Links see the end of theirs.
func (t *Transport) Stop() {
	t.remote.Shutdown(false)
	t.clients.close()
}

// Advertised is the host and port at which peers reach this node.
func (t *Transport) Advertised() string { return t.listen }

// Address is the actor system's, unique to this incarnation.
func (t *Transport) Address() string { return Address(t.listen, t.opt.Incarnation) }

// Address is that of the actors of an incarnation at host:port.
func Address(hostPort, incarnation string) string {
	return scheme + ":///" + hostPort + "/" + incarnation
}

// Open makes a key for this node's end of a link and returns it. Frames that come with it go to
// the actor, and so does LinkBroken when the connection that carries them ends, or the one
// to the peer's address. Close forgets the key.
func (t *Transport) Open(end *actor.PID) (key string) { return t.links.open(end) }

// Connect returns the process to which frames of a link are sent: peerKey names the peer's
// end. Each link has a connection of its own: the runtime may tell of the end of one when
// the next link to the same incarnation has begun.
func (t *Transport) Connect(key, hostPort, incarnation, peerKey string) *actor.PID {
	address := Address(hostPort, incarnation) + "/" + key
	t.links.connect(key, address)
	return actor.NewPID(address, peerKey)
}

// End has nothing more go to the actor of a link that is over. Close follows.
func (t *Transport) End(key string) { t.links.end(key) }

// Close forgets the key of a link that is over, and closes the connection to its peer.
func (t *Transport) Close(key string) {
	if peer := t.links.close(key); peer != "" {
		t.system.EventStream.Publish(&remote.EndpointTerminatedEvent{Address: peer})
	}
}

// onEvent tells links of the end of the connection to their peer.
func (t *Transport) onEvent(event any) {
	if e, ok := event.(*remote.EndpointTerminatedEvent); ok {
		t.links.lost(e.Address, "the connection to the peer is lost")
	}
}

func (t *Transport) serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(t.credentials()),
		grpc.MaxRecvMsgSize(maxBatch),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.MaxConcurrentStreams(256),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.UnaryInterceptor(refuseUnary),
		grpc.StreamInterceptor(t.checkStream),
		grpc.UnknownServiceHandler(t.serveCall),
	}
}

func (t *Transport) credentials() credentials.TransportCredentials {
	if t.opt.Credentials == nil {
		return insecure.NewCredentials()
	}
	return t.opt.Credentials.Clone()
}

func (t *Transport) dialOptions() []grpc.DialOption {
	opts := []grpc.DialOption{
		grpc.WithResolvers(addresses{}), grpc.WithTransportCredentials(t.credentials()),
		// The caller decides when to try again; this only bounds how often a port is tried.
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}, MinConnectTimeout: time.Second}),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBatch), grpc.MaxCallSendMsgSize(maxBatch)),
	}
	if t.opt.Credentials == nil {
		opts = append(opts, grpc.WithAuthority(scheme)) // else the credentials name it
	}
	if t.opt.Dial != nil {
		opts = append(opts, grpc.WithContextDialer(t.opt.Dial))
	}
	return opts
}

// addresses resolves the address of an incarnation to its host and port.
type addresses struct{}

func (addresses) Scheme() string { return scheme }

func (addresses) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	hostPort, _, _ := strings.Cut(target.Endpoint(), "/")
	if _, port, err := net.SplitHostPort(hostPort); err != nil {
		return nil, err
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, err
	}
	return resolved{}, cc.UpdateState(resolver.State{Endpoints: []resolver.Endpoint{{Addresses: []resolver.Address{{Addr: hostPort}}}}})
}

type resolved struct{}

func (resolved) ResolveNow(resolver.ResolveNowOptions) {}
func (resolved) Close()                                {}
