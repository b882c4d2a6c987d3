package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/model/config"
)

// API makes the HTTP adapter of the node.
func (n *Node) API() *httpapi.Server {
	c := n.opt.Config
	return httpapi.New(httpapi.Deps{
		Options: httpapi.Options{
			Host: c.Host, Port: c.Port, APIKeys: c.APIKey, MaxBodyBytes: c.MaxBodyBytes, HeaderTimeout: c.HeaderTimeout,
			WriteStall: c.WriteStall, HealthTimeout: c.HealthTimeout,
			CORSOrigins: c.CORSOrigins, TLSCert: c.TLSCert, TLSKey: c.TLSKey,
		},
		Model: httpapi.Model{
			ID: n.Name, Created: n.started.Unix(), Context: min(n.Checkpoint.Program.Context, n.Plan.Tokens), Tokenizer: n.Tokenizer,
			Template: n.Template, EOS: n.EOS(), Defaults: n.SamplingDefaults(), Fingerprint: n.shortFingerprint,
		},
		Engine: n.Engine, Log: n.opt.Log, Metrics: n.Meter.Handler(), Info: n.Info, Seed: newSeed, Now: time.Now,
	})
}

// EOS are the tokens that end an output.
func (n *Node) EOS() []int32 {
	if eos := n.Checkpoint.Config.EOS; len(eos) > 0 {
		return eos
	}
	if id, ok := n.Tokenizer.EOS(); ok {
		return []int32{id}
	}
	return nil
}

// SamplingDefaults hold where a request is silent: what the model recommends,
// or the API's.
func (n *Node) SamplingDefaults() httpapi.SamplingDefaults {
	d := httpapi.OpenAIDefaults
	if n.opt.Config.SamplingFrom == "openai" {
		return d
	}
	return recommended(d, n.Checkpoint.Config.Generation)
}

func recommended(d httpapi.SamplingDefaults, g config.Generation) httpapi.SamplingDefaults {
	for _, f := range []struct {
		to   *float64
		from *float32
	}{{&d.Temperature, g.Temperature}, {&d.TopP, g.TopP}, {&d.MinP, g.MinP}, {&d.RepetitionPenalty, g.RepetitionPenalty}} {
		if f.from != nil {
			*f.to = float64(*f.from)
		}
	}
	if g.TopK != nil {
		d.TopK = int(*g.TopK)
	}
	if g.DoSample != nil && !*g.DoSample {
		d.Temperature = 0
	}
	return d
}

// Serve answers requests on the adapter's listener until ctx ends, then drains:
// readiness goes first, new calls are refused, open ones get DrainTimeout to
// finish.
func (n *Node) Serve(ctx context.Context, api *httpapi.Server, l net.Listener) error {
	admin, failed, err := n.serveAdmin()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer admin.Close()
	go func() { failed <- api.Serve(l) }()
	timeout := n.opt.Config.DrainTimeout
	limit, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	select {
	case err := <-failed:
		return err
	case err := <-n.Fatal:
		cancel() // nobody can answer what is open
		return errors.Join(err, api.Shutdown(limit))
	case <-ctx.Done():
	}
	n.opt.Log.Info().Dur("timeout_ms", timeout).Msg("shutting down; open requests may finish")
	api.Drain()
	limit, cancel = context.WithTimeout(limit, timeout)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- n.Engine.Drain(limit) }()
	select {
	case err := <-n.Fatal:
		cancel()
		return errors.Join(err, api.Shutdown(limit))
	case err := <-drained:
		if err != nil {
			n.opt.Log.Warn().Msg("drain-timeout is over; the requests that are still open end now")
		}
	}
	if err := api.Shutdown(limit); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// serveAdmin opens the profiler on its own address, where one is set.
func (n *Node) serveAdmin() (*http.Server, chan error, error) {
	c := n.opt.Config
	server, failed := &http.Server{Handler: httpapi.AdminHandler(), ReadHeaderTimeout: c.HeaderTimeout}, make(chan error, 2)
	if c.AdminAddress == "" {
		return server, failed, nil
	}
	l, err := httpapi.ListenTCP(c.AdminAddress)
	if err != nil {
		return nil, nil, fmt.Errorf("admin-address: %w", err)
	}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return server, failed, nil
}
