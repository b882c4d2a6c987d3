//go:build cuda

package driver

import "testing"

// What work costs the host, but for the driver's own part: the fake one only looks up an
// environment variable.
func BenchmarkLaunch(b *testing.B) { benchmark(b, "cuLaunchKernelEx") }

func BenchmarkLaunchGraph(b *testing.B) { benchmark(b, "cuGraphLaunch") }

func BenchmarkEventDone(b *testing.B) { benchmark(b, "cuEventQuery") }

func benchmark(b *testing.B, symbol string) {
	closeDriver()
	defer closeDriver()
	must(0, Open(Options{Library: fake(b)}))(b)
	d := must(Retain(0))(b)
	a := everything(b, d)
	for _, c := range a.calls() {
		if c.symbol == symbol {
			b.ReportAllocs()
			for b.Loop() {
				must(0, c.do())(b)
			}
		}
	}
	a.close(b)
	must(0, d.Close())(b)
}
