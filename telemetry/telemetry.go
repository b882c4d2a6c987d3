// Package telemetry publishes the readings of the cores: at /metrics in the
// Prometheus format and as plain values for /server_info.
//
// A reading of a metric that is not in the table of this package is a programming
// error; it is logged once.
package telemetry

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
)

// Meter implements messages.Meter. Safe for concurrent use.
type Meter struct {
	model    string // label of every series
	registry *prometheus.Registry
	metrics  map[messages.Metric]*metric // immutable after New
	unknown  sync.Map                    // metric names already reported
	log      zerolog.Logger
}

// metric is a row with its collector.
type metric struct {
	row
	counter   prometheus.Counter
	gauge     prometheus.Gauge
	histogram prometheus.Histogram
	last      atomic.Pointer[float64] // of a gauge
	total     atomicFloat             // of a counter
}

// atomicFloat is a float that is added to with compare-and-swap.
type atomicFloat struct{ p atomic.Pointer[float64] }

func (a *atomicFloat) add(v float64) {
	for {
		old := a.p.Load()
		sum := v
		if old != nil {
			sum += *old
		}
		if a.p.CompareAndSwap(old, &sum) {
			return
		}
	}
}

// New makes a meter. model is a label of every series.
func New(model string, log zerolog.Logger) *Meter {
	m := &Meter{model: model, registry: prometheus.NewRegistry(), metrics: map[messages.Metric]*metric{}, log: log}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, r := range rows {
		x := &metric{row: r}
		labels := prometheus.Labels{"model_name": model}
		name, label, _ := strings.Cut("troupe_"+string(r.name), "{")
		if key, value, ok := strings.Cut(strings.TrimSuffix(label, "}"), "="); ok {
			labels[key] = strings.Trim(value, `"`)
		}
		switch r.kind {
		case counter:
			x.counter = prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: r.help, ConstLabels: labels})
			m.registry.MustRegister(x.counter)
		case gauge:
			x.gauge = prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: r.help, ConstLabels: labels})
			m.registry.MustRegister(x.gauge)
		case histogram:
			x.histogram = prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: r.help, ConstLabels: labels, Buckets: r.buckets})
			m.registry.MustRegister(x.histogram)
		}
		m.metrics[r.name] = x
	}
	return m
}

// Record implements messages.Meter.
func (m *Meter) Record(name messages.Metric, v float64) {
	x, ok := m.metrics[name]
	if !ok {
		if _, seen := m.unknown.LoadOrStore(name, true); !seen {
			m.log.Error().Str("metric", string(name)).Msg("a recorded metric is not in the table")
		}
		return
	}
	switch x.kind {
	case probe:
		m.log.Error().Str("metric", string(name)).Msg("a recorded metric is a probe")
	case counter:
		x.counter.Add(v)
		x.total.add(v)
	case gauge:
		x.gauge.Set(v)
		x.last.Store(&v)
	case histogram:
		x.histogram.Observe(v)
	}
}

// Value is the value of a counter or gauge, 0 before it was recorded. It is cheap.
func (m *Meter) Value(name messages.Metric) float64 {
	x := m.metrics[name]
	if x == nil {
		return 0
	}
	p := x.last.Load()
	if x.kind == counter {
		p = x.total.p.Load()
	}
	if p == nil {
		return 0
	}
	return *p
}

// Handler serves the Prometheus exposition.
func (m *Meter) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
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
