package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Keys counts what the holders of API keys use. There is one series for each name that
// was used and that Keep has not removed.
type Keys struct {
	registry                 *prometheus.Registry
	requests, prompt, output *prometheus.CounterVec
	mu                       sync.Mutex
	names                    map[string]bool // of the series
}

func NewKeys() *Keys {
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"key"})
	}
	k := &Keys{registry: prometheus.NewRegistry(), names: map[string]bool{},
		requests: vec("troupe_key_requests_total", "Requests accepted, by the name of the API key."),
		prompt:   vec("troupe_key_prompt_tokens_total", "Prompt tokens of accepted requests, by the name of the API key."),
		output:   vec("troupe_key_generation_tokens_total", "Output tokens, by the name of the API key.")}
	k.registry.MustRegister(k.requests, k.prompt, k.output)
	return k
}

// Of returns the counters of a key's name.
func (k *Keys) Of(name string) *KeyUse {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names[name] = true
	return &KeyUse{k.requests.WithLabelValues(name), k.prompt.WithLabelValues(name), k.output.WithLabelValues(name)}
}

// Keep removes the series of all names but those of known keys.
func (k *Keys) Keep(known map[string]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range k.names {
		if known[name] {
			continue
		}
		delete(k.names, name)
		for _, vec := range []*prometheus.CounterVec{k.requests, k.prompt, k.output} {
			vec.DeleteLabelValues(name)
		}
	}
}

// KeyUse are the counters of one key.
type KeyUse struct{ requests, prompt, output prometheus.Counter }

func (u *KeyUse) Requests(n int)    { u.requests.Add(float64(n)) }
func (u *KeyUse) Prompt(tokens int) { u.prompt.Add(float64(tokens)) }
func (u *KeyUse) Output(tokens int) { u.output.Add(float64(max(0, tokens))) }
