package plot

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func samples(n int) []Sample {
	all := make([]Sample, n)
	for i := range all {
		x := float64(i)
		all[i] = Sample{Seconds: x * 10, Leased: 100 + 10*math.Sin(x), Locked: 200, Evictable: 300 + x, Free: 400 - x,
			TTFT: 0.2 + x/10, ITL: 0.01, Waiting: x, Running: 5}
		if i%4 == 3 {
			all[i].TTFT, all[i].ITL = math.NaN(), math.NaN()
		}
	}
	return all
}

func drawn(t *testing.T, f *Figure, format Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSVGIsWellFormedAndNamesEverything(t *testing.T) {
	text := drawn(t, Usage("one replica", samples(40)), SVG)
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"one replica", "KV pages", "leased", "locked", "evictable", "free", "latency (s)", "TTFT", "ITL", "requests", "waiting", "running", "time (s)"} {
		if !bytes.Contains(text, []byte(">"+want+"<")) {
			t.Errorf("the SVG does not say %q", want)
		}
	}
	if bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Inf")) {
		t.Error("the SVG holds numbers that are none")
	}
}

func TestPNGHasThePanels(t *testing.T) {
	img, err := png.Decode(bytes.NewReader(drawn(t, Usage("", samples(9)), PNG)))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() < 800 || b.Dy() < 600 {
		t.Errorf("the picture is %v", b)
	}
	// The stack covers the first panel's height: somewhere in the upper third
	// stands the colour of each owner.
	for _, c := range colours[:4] {
		found := false
		for y := 0; y < img.Bounds().Dy()/3 && !found; y++ {
			for x := 0; x < img.Bounds().Dx() && !found; x++ {
				r, g, b, _ := img.At(x, y).RGBA()
				found = uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(b>>8) == c.B
			}
		}
		if !found {
			t.Errorf("no area has the colour %v", c)
		}
	}
}

func TestSameFigureSameBytes(t *testing.T) {
	for _, format := range []Format{SVG, PNG} {
		if !bytes.Equal(drawn(t, Usage("x", samples(30)), format), drawn(t, Usage("x", samples(30)), format)) {
			t.Errorf("two drawings differ as %s", format)
		}
	}
}

func TestNothingAnsweredHasNoLatencyPanel(t *testing.T) {
	all := samples(5)
	for i := range all {
		all[i].TTFT, all[i].ITL = math.NaN(), math.NaN()
	}
	f := Usage("idle", all)
	if len(f.Panels) != 2 || bytes.Contains(drawn(t, f, SVG), []byte("latency")) {
		t.Errorf("%d panels", len(f.Panels))
	}
}

func TestConstantAndZeroSeries(t *testing.T) {
	f := &Figure{Seconds: []float64{0, 1}, Panels: []Panel{
		{Label: "zero", Series: []Series{{"z", []float64{0, 0}}}},
		{Label: "log", Log: true, Series: []Series{{"ten", []float64{10, 10}}, {"none", []float64{0, -1}}}},
		{Label: "stack", Stacked: true, Series: []Series{{"gap", []float64{math.NaN(), 0}}}},
	}}
	if text := drawn(t, f, SVG); bytes.Contains(text, []byte("NaN")) {
		t.Error("NaN in the SVG")
	}
}

func TestRefusals(t *testing.T) {
	good := func() *Figure { return Usage("", samples(3)) }
	for _, tc := range []struct {
		name string
		make func(*Figure)
		want string
	}{
		{"one sample", func(f *Figure) { f.Seconds = f.Seconds[:1] }, "at least 2"},
		{"time stands still", func(f *Figure) { f.Seconds[1] = 0 }, "ascend"},
		{"no panel", func(f *Figure) { f.Panels = nil }, "without panels"},
		{"no series", func(f *Figure) { f.Panels[0].Series = nil }, "no series"},
		{"short series", func(f *Figure) { f.Panels[2].Series[0].Values = []float64{1} }, "1 values for 3 times"},
		{"negative stack", func(f *Figure) { f.Panels[0].Series[0].Values[1] = -1 }, "cannot be drawn"},
		{"infinite", func(f *Figure) { f.Panels[2].Series[0].Values[1] = math.Inf(1) }, "cannot be drawn"},
		{"logarithmic stack", func(f *Figure) { f.Panels[0].Log = true }, "stacked and logarithmic"},
	} {
		f := good()
		tc.make(f)
		if err := f.Write(io.Discard, SVG); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if err := good().Write(io.Discard, "gif"); err == nil || !strings.Contains(err.Error(), "svg or png") {
		t.Errorf("gif: %v", err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	for name, magic := range map[string]string{"a.svg": "<?xml", "b.PNG": "\x89PNG"} {
		path := filepath.Join(dir, name)
		if err := Usage("", samples(3)).WriteFile(path); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(b, []byte(magic)) {
			t.Errorf("%s begins with %.8q, %v", name, b, err)
		}
	}
	bad := filepath.Join(dir, "c.pdf")
	if err := Usage("", samples(3)).WriteFile(bad); err == nil || !strings.Contains(err.Error(), ".svg nor .png") {
		t.Errorf("pdf: %v", err)
	}
	if _, err := os.Stat(bad); err == nil {
		t.Error("a refused format leaves a file")
	}
	if os.Getenv("PLOT_SAMPLE") != "" {
		_ = Usage("sample", samples(60)).WriteFile(os.Getenv("PLOT_SAMPLE"))
	}
}
