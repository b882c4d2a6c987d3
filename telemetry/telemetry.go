// Package telemetry publishes the readings of the cores, in the Prometheus format
// for /metrics and as plain values for /server_info.
//
// A reading of a metric that is not in this package's table is a bug; it is logged once.
package telemetry

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
)

// Meter implements messages.Meter. Safe for concurrent use. Recording allocates nothing.
type Meter struct {
	model    string // label of every series
	registry *prometheus.Registry
	metrics  map[messages.Metric]*metric // immutable after New
	unknown  sync.Map                    // metric names already reported
	log      zerolog.Logger
}

// metric is one row with its values: a counter's is for all engines, gauges have one each.
type metric struct {
	row
	parts     []number
	histogram prometheus.Histogram
}

// number is a float64 that several goroutines change.
type number struct{ bits atomic.Uint64 }

func (n *number) get() float64  { return math.Float64frombits(n.bits.Load()) }
func (n *number) set(v float64) { n.bits.Store(math.Float64bits(v)) }

func (n *number) add(v float64) {
	for {
		old := n.bits.Load()
		if n.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// New makes a meter for a number of engines. model is a label of every series.
func New(model string, engines int, log zerolog.Logger) *Meter {
	m := &Meter{model: model, registry: prometheus.NewRegistry(), metrics: map[messages.Metric]*metric{}, log: log}
	for _, r := range rows {
		x := &metric{row: r}
		labels := prometheus.Labels{"model_name": model}
		name, label, _ := strings.Cut("troupe_"+string(r.name), "{")
		if key, value, ok := strings.Cut(strings.TrimSuffix(label, "}"), "="); ok {
			labels[key] = strings.Trim(value, `"`)
		}
		switch r.kind {
		case counter:
			x.parts = make([]number, 1)
			m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: r.help, ConstLabels: labels}, x.value))
		case gauge:
			x.parts = make([]number, engines)
			m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: r.help, ConstLabels: labels}, x.value))
		case histogram:
			x.histogram = prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: r.help, ConstLabels: labels, Buckets: r.buckets})
			m.registry.MustRegister(x.histogram)
		}
		m.metrics[r.name] = x
	}
	return m
}

// Engine is the meter of one engine, counted from 0. Gauges of several engines
// are added up; those that are shares are averaged.
func (m *Meter) Engine(i int) *EngineMeter { return &EngineMeter{m, i} }

// EngineMeter implements messages.Meter.
type EngineMeter struct {
	meter *Meter
	index int
}

func (e *EngineMeter) Record(name messages.Metric, v float64) { e.meter.record(e.index, name, v) }

// Record implements messages.Meter, for what belongs to no engine.
func (m *Meter) Record(name messages.Metric, v float64) { m.record(0, name, v) }

func (m *Meter) record(engine int, name messages.Metric, v float64) {
	x, ok := m.metrics[name]
	if !ok {
		if _, seen := m.unknown.LoadOrStore(name, true); !seen {
			m.log.Error().Str("metric", string(name)).Msg("bug: unknown metric; please report this")
		}
		return
	}
	switch x.kind {
	case probe:
		m.log.Error().Str("metric", string(name)).Msg("bug: this metric is computed when it is read and cannot be recorded; please report this")
	case counter:
		x.parts[0].add(v)
	case gauge:
		x.parts[engine].set(v)
	case histogram:
		x.histogram.Observe(v)
	}
}

// shares are the gauges that are not added up over engines.
var shares = []messages.Metric{messages.TokenUsage, messages.NewTokenRatio}

// value is a counter or a gauge over all engines; 0 before it was recorded.
func (x *metric) value() float64 {
	sum := 0.0
	for i := range x.parts {
		sum += x.parts[i].get()
	}
	if slices.Contains(shares, x.name) {
		sum /= float64(len(x.parts))
	}
	return sum
}

// Value is a counter or a gauge, 0 before it was recorded. It costs very little.
func (m *Meter) Value(name messages.Metric) float64 {
	x := m.metrics[name]
	if x == nil {
		return 0
	}
	return x.value()
}

// Handler serves the Prometheus exposition of the process and of this meter.
func (m *Meter) Handler() http.Handler {
	return Handler(func() []*Meter { return []*Meter{m} }, NewKeys())
}

// Handler serves the Prometheus exposition of the process, of the meters, whose models
// must differ, and of the API keys. meters is called for each request.
func Handler(meters func() []*Meter, keys *Keys) http.Handler {
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all := prometheus.Gatherers{process, keys.registry}
		for _, m := range meters() {
			all = append(all, m.registry)
		}
		return all.Gather()
	}), promhttp.HandlerOpts{})
}

// Values are the counters and gauges by name, 0 if never recorded.
func (m *Meter) Values() map[string]float64 {
	values := make(map[string]float64, len(m.metrics))
	for name, x := range m.metrics {
		if x.kind == counter || x.kind == gauge {
			values[string(name)] = m.Value(name)
		}
	}
	return values
}

// StartEpoch sets the gauges to the state at the start of an epoch: nothing runs
// and all pages are free. Actors record gauges only when they handle messages, so
// the values would be those of the last epoch until then.
func (m *EngineMeter) StartEpoch(pages int) {
	m.Record(messages.Pages, float64(pages))
	m.Record(messages.PagesFree, float64(pages))
	for _, name := range []messages.Metric{
		messages.PagesEvictable, messages.PagesProtected, messages.PagesLeased, messages.RadixNodes, messages.TokenUsage,
		messages.RequestsRunning, messages.RequestsRetracted, messages.RequestsWaiting, messages.TokensWaiting,
	} {
		m.Record(name, 0)
	}
}
