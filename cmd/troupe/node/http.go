package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/telemetry"
)

// Listeners are the addresses of a node.
type Listeners struct {
	API   net.Listener
	Admin net.Listener // nil without an admin-address
}

// Listen opens the addresses before a model is loaded: one in use is reported at once.
func Listen(c *configs.Config) (*Listeners, error) {
	api, err := httpapi.Listen(c.HTTP)
	if errors.As(err, new(*net.OpError)) {
		return nil, c.Explain(configs.About(err, "host", "port"))
	}
	if err != nil || c.AdminAddress == "" {
		return &Listeners{API: api}, c.Explain(configs.About(err, "tls-cert", "tls-key"))
	}
	admin, err := httpapi.ListenTCP(c.AdminAddress)
	if err != nil {
		err = c.Explain(configs.About(fmt.Errorf("admin-address: %w", err), "admin-address"))
		return nil, errors.Join(err, api.Close())
	}
	return &Listeners{api, admin}, nil
}

func (l *Listeners) Close() {
	l.API.Close()
	if l.Admin != nil {
		l.Admin.Close()
	}
}

// API returns a new HTTP adapter.
func (n *Node) API() *httpapi.Server {
	keys := telemetry.NewKeys()
	deps := httpapi.Deps{
		Options: n.Config().HTTP, Log: n.opt.Log, Metrics: telemetry.Handler(n.meters, keys), KeyUse: func(name string) httpapi.KeyUse { return keys.Of(name) }, KeepKeys: keys.Keep, Info: n.Info, Seed: newSeed, Now: time.Now,
	}
	if g := n.cluster; g != nil {
		deps.Models, deps.Gateway = &g.catalog, n.Config().Cluster.HasGateway()
		if !deps.Gateway {
			deps.Node = &httpapi.EngineNode{Cluster: n.Config().Cluster.Name, Gateway: g.gatewayURL}
		}
	} else {
		served := &httpapi.Served{Model: n.model(), Engine: n.Engine, Full: n.full(), Steps: func() float64 { return n.Meter.Value(messages.Steps) }, Readings: readings(n.Meter)}
		if n.Config().Cache.Events {
			served.Observe = n.Engine.Observe
		}
		deps.Models = httpapi.Serving(served)
	}
	deps.Cluster = n.super.clusterAPI()
	if n.Recording != nil {
		deps.Record = n.Recording.Begin
	}
	return httpapi.New(deps)
}

// model is this process's own.
func (n *Node) model() httpapi.Model {
	m := httpapi.Model{
		ID: n.Name, Created: n.started.Unix(), Context: min(n.Checkpoint.Program.Context, n.Plan.Tokens), Tokenizer: n.Tokenizer,
		Template: n.Template, ToolTemplate: n.toolTemplate, Format: n.format, TemplateFault: n.TemplateFault, EOS: n.EOS(), Defaults: n.SamplingDefaults(), Fingerprint: n.fingerprintFor, GrammarFault: n.grammarFault,
	}
	if n.grammars != nil {
		m.Grammars = n.grammars
	}
	return m
}

// meters are those of this process's models.
func (n *Node) meters() []*telemetry.Meter {
	var list []*telemetry.Meter
	if n.core != nil {
		list = append(list, n.Meter)
	}
	if n.cluster != nil {
		for _, r := range n.cluster.all() {
			if r.meter != n.Meter {
				list = append(list, r.meter)
			}
		}
	}
	return list
}

// full returns a test of whether every new request would be refused, with the estimated
// wait and its limit; nil if some requests may go before others: then only intake knows.
func (n *Node) full() func() (wait, most time.Duration, full bool) {
	if opt := n.tableOptions(); opt.Displace || opt.Fair {
		return nil
	}
	return func() (time.Duration, time.Duration, bool) {
		most := n.Config().Requests.Patience()
		if most == 0 {
			return 0, 0, false
		}
		wait := time.Duration(n.Meter.Value(messages.QueueWait) * float64(time.Second))
		if wait <= most {
			return 0, 0, false
		}
		n.Meter.Record(messages.RequestsRefused, 1)
		return wait, most, true
	}
}

// Serve answers requests until ctx ends and then drains: readiness is false, new calls
// are refused, open ones are aborted after DrainTimeout. It closes the listeners.
func (n *Node) Serve(ctx context.Context, api *httpapi.Server, l *Listeners) error {
	defer l.Close()
	following, end := context.WithCancel(ctx)
	var follower sync.WaitGroup
	follower.Go(func() { n.follow(following, api, n.Reloads) })
	defer follower.Wait()
	defer end()
	failed := make(chan error, 2)
	admin := &http.Server{ReadHeaderTimeout: n.Config().HTTP.HeaderTimeout}
	defer admin.Close()
	if l.Admin != nil {
		host, _, _ := net.SplitHostPort(n.Config().AdminAddress) // it was opened
		admin.Handler = httpapi.AdminHandler(host, l.Admin.Addr(), func() []string { return n.Config().HTTP.AllowedHosts })
		go func() { failed <- admin.Serve(l.Admin) }()
	}
	go func() { failed <- api.Serve(l.API) }()
	select {
	case err := <-failed:
		return err
	case <-n.super.restart:
		if err := n.drain(ctx, api); err != nil {
			return err
		}
		return ErrRestart
	case err := <-n.Fatal:
		return errors.Join(err, n.abandon(api))
	case <-ctx.Done():
		return n.drain(context.WithoutCancel(ctx), api)
	}
}
