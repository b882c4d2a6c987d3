package node

import (
	"context"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
)

// Reloads is how a running server reads its settings again.
type Reloads struct {
	Load func() (*configs.Config, error) // reads all layers
	Why  <-chan string                   // receives reasons, for the log; during a reload they may be merged
	// Applied, if not nil, is called with the settings after each change.
	Applied func(*configs.Config)
}

// follow reloads the settings until ctx ends.
func (n *Node) follow(ctx context.Context, api *httpapi.Server, reloads Reloads) {
	for {
		select {
		case why := <-reloads.Why:
			n.reload(ctx, api, reloads.Load, why)
		case <-ctx.Done():
			return
		}
	}
}

func (n *Node) reload(ctx context.Context, api *httpapi.Server, load func() (*configs.Config, error), why string) {
	next, err := load()
	var changed []string
	var keys *configs.Config // only the keys have changed
	if err == nil {
		next = n.opened.with(next)
		if changed, err = n.apply(ctx, api, next); err != nil {
			keys = n.applyKeys(api, n.Config().WithKeys(next))
		}
	} else {
		keys = n.applyKeys(api, n.Config().WithKeysNow())
	}
	if now := n.Config(); n.Reloads.Applied != nil && (keys != nil || err == nil && len(changed) > 0) {
		n.Reloads.Applied(now)
	}
	switch {
	case ctx.Err() != nil: // the server is shutting down
	case keys != nil:
		n.Meter.Record(messages.ReloadsRefused, 1)
		n.opt.Log.Error().Err(err).Str("reason", why).Msg("of the settings only the keys of api-keys-file were reloaded; all others keep their values")
	case err != nil:
		n.Meter.Record(messages.ReloadsRefused, 1)
		n.opt.Log.Error().Err(err).Str("reason", why).Msg("the settings were not reloaded; all keep their values")
	case len(changed) == 0:
		n.Meter.Record(messages.ReloadsUnchanged, 1)
		n.opt.Log.Info().Str("reason", why).Msg("the settings were reloaded; nothing has changed")
	default:
		n.Meter.Record(messages.ReloadsApplied, 1)
		n.opt.Log.Info().Strs("changed", changed).Str("reason", why).Msg("the settings were reloaded")
		for _, w := range next.Warnings() {
			n.opt.Log.Warn().Msg(w)
		}
	}
}

// applyKeys applies settings that differ only in the keys of api-keys-file, none if with is
// nil. It returns them.
func (n *Node) applyKeys(api *httpapi.Server, with *configs.Config) *configs.Config {
	if with != nil {
		api.Configure(with.HTTP)
		n.config.Store(with)
	}
	return with
}

// apply changes the settings to next, all of them or none, and returns the keys of
// those that differ. Intake comes first, because only it can refuse.
func (n *Node) apply(ctx context.Context, api *httpapi.Server, next *configs.Config) (changed []string, err error) {
	if changed, err = n.Config().Changes(next); err != nil {
		return nil, err
	}
	for _, e := range n.fronts() {
		if err := e.Configure(ctx, next.Requests.Limits()); err != nil {
			return nil, next.Explain(err)
		}
	}
	api.Configure(next.HTTP)
	if n.opt.LogLevel != nil {
		SetLogLevel(n.opt.LogLevel, next)
	}
	n.config.Store(next) // drain-timeout and the sources are read there
	return changed, nil
}
