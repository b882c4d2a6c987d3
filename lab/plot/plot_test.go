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

func drawn(t *testing.T, u *Usage, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := u.write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSVGIsWellFormedAndNamesEverything(t *testing.T) {
	text := drawn(t, &Usage{"one replica", samples(40)}, "svg")
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
	img, err := png.Decode(bytes.NewReader(drawn(t, &Usage{"", samples(9)}, "png")))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() < 800 || b.Dy() < 600 {
		t.Errorf("the picture is %v", b)
	}
	// The stack covers the first panel's height: the upper third has the colour of
	// each owner.
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
	for _, format := range []string{"svg", "png"} {
		if !bytes.Equal(drawn(t, &Usage{"x", samples(30)}, format), drawn(t, &Usage{"x", samples(30)}, format)) {
			t.Errorf("two drawings as %s differ", format)
		}
	}
}

func TestNothingAnsweredHasNoLatencyPanel(t *testing.T) {
	all := samples(5)
	for i := range all {
		all[i].TTFT, all[i].ITL = math.NaN(), math.NaN()
	}
	u := &Usage{"idle", all}
	if n := len(u.panels()); n != 2 || bytes.Contains(drawn(t, u, "svg"), []byte("latency")) {
		t.Errorf("%d panels", n)
	}
}

// Values that never change, are missing or are impossible can be drawn.
func TestConstantZeroAndImpossibleSamples(t *testing.T) {
	for _, of := range []Sample{{}, {TTFT: 10, Waiting: 3}, {Free: math.NaN(), Leased: -5, TTFT: -1, ITL: 1}} {
		all := []Sample{of, of}
		all[1].Seconds = 1
		if text := drawn(t, &Usage{Samples: all}, "svg"); bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Inf")) {
			t.Errorf("NaN in the SVG of %+v", of)
		}
	}
}

func TestOneSampleIsNoCurve(t *testing.T) {
	if err := (&Usage{"", samples(1)}).write(io.Discard, "svg"); err == nil || !strings.Contains(err.Error(), "at least 2") {
		t.Error(err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	for name, magic := range map[string]string{"a.svg": "<?xml", "b.PNG": "\x89PNG"} {
		path := filepath.Join(dir, name)
		if err := (&Usage{"", samples(3)}).WriteFile(path); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(b, []byte(magic)) {
			t.Errorf("%s begins with %.8q, %v", name, b, err)
		}
	}
	bad := filepath.Join(dir, "c.pdf")
	if err := (&Usage{"", samples(3)}).WriteFile(bad); err == nil || !strings.Contains(err.Error(), "must end in .svg or .png") {
		t.Errorf("pdf: %v", err)
	}
	if _, err := os.Stat(bad); err == nil {
		t.Error("a refused format leaves a file")
	}
	if os.Getenv("PLOT_SAMPLE") != "" {
		_ = (&Usage{"sample", samples(60)}).WriteFile(os.Getenv("PLOT_SAMPLE"))
	}
}
