package telemetry

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/troupe-engine/troupe/messages"
)

// Sample is one reading of a probe.
type Sample struct {
	Value float64
	// Labels are pairs of name and value. All samples of a probe have the same
	// names.
	Labels []string
}

// prober reads one metric at each exposition.
type prober struct {
	desc  *prometheus.Desc
	names []string
	read  func() []Sample
}

// Probe exposes a metric whose value is read at each exposition. labels are the
// label names of its samples; read must be safe to call from any goroutine. Probe
// panics if the table of metrics does not list name as a probe.
func (m *Meter) Probe(name messages.Metric, read func() []Sample, labels ...string) {
	x, ok := m.metrics[name]
	if !ok || x.kind != probe {
		panic(fmt.Sprintf("telemetry: %s is not a probe", name))
	}
	p := &prober{names: labels, read: read}
	p.desc = prometheus.NewDesc("troupe_"+string(name), x.help, labels, prometheus.Labels{"model_name": m.model})
	m.registry.MustRegister(p)
}

// One is the reading of a probe without labels.
func One(v float64) []Sample { return []Sample{{Value: v}} }

// Describe implements prometheus.Collector.
func (p *prober) Describe(ch chan<- *prometheus.Desc) { ch <- p.desc }

// Collect implements prometheus.Collector.
func (p *prober) Collect(ch chan<- prometheus.Metric) {
	for _, s := range p.read() {
		values := make([]string, len(p.names))
		for i, name := range p.names {
			if at := slices.Index(s.Labels, name); at >= 0 && at+1 < len(s.Labels) {
				values[i] = s.Labels[at+1]
			}
		}
		ch <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, s.Value, values...)
	}
}
