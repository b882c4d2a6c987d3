package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
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
			WriteStall: c.WriteStall, HealthTimeout: c.HealthTimeout, PrepareConcurrency: runtime.GOMAXPROCS(0) + 2,
			CORSOrigins: c.CORSOrigins, TLSCert: c.TLSCert, TLSKey: c.TLSKey,
		},
		Model: httpapi.Model{
			ID: n.Name, Created: n.started.Unix(), Context: min(n.Checkpoint.Program.Context, n.Plan.Tokens), Tokenizer: n.Tokenizer,
			Template: n.Template, EOS: n.EOS(), Defaults: n.SamplingDefaults(),
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

// Listen opens the API's port. A port in use is an error that says what to do.
func (n *Node) Listen() (net.Listener, error) {
	c := n.opt.Config
	l, err := net.Listen("tcp", net.JoinHostPort(c.Host, strconv.Itoa(c.Port)))
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s port %d: %w; another server may be running there, choose another one with --port", c.Host, c.Port, err)
	}
	if c.TLSCert == "" {
		return l, nil
	}
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("tls-cert %s with tls-key %s: %w; both must be PEM files that belong together", c.TLSCert, c.TLSKey, err), l.Close())
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// Serve answers requests until ctx ends, then drains: readiness goes first, new
// calls are refused, open ones get DrainTimeout to finish.
func (n *Node) Serve(ctx context.Context, l net.Listener) error {
	c, api := n.opt.Config, n.API()
	server := &http.Server{Handler: api.Handler(), ReadHeaderTimeout: c.HeaderTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(l) }()
	admin, err := n.serveAdmin(failed)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	defer admin.Close()
	select {
	case err := <-failed:
		return err
	case err := <-n.Fatal:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	api.Drain()
	n.opt.Log.Info().Dur("timeout_ms", c.DrainTimeout).Msg("shutting down; open requests may finish")
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.DrainTimeout)
	defer cancel()
	if err := n.Engine.Drain(limit); err != nil {
		n.opt.Log.Warn().Msg("drain-timeout is over; the requests that are still open end now")
		return server.Close()
	}
	return server.Shutdown(limit)
}

// serveAdmin opens the profiler on its own address, where one is set.
func (n *Node) serveAdmin(failed chan<- error) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: n.opt.Config.HeaderTimeout}
	address := n.opt.Config.AdminAddress
	if address == "" {
		return server, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("admin-address %s: %w; choose another one", address, err)
	}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return server, nil
}
