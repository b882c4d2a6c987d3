package plot

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Format is a kind of picture file.
type Format string

// The formats that can be written.
const (
	SVG Format = "svg"
	PNG Format = "png"
)

// FormatOf tells the format from a file's name.
func FormatOf(path string) (Format, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg":
		return SVG, nil
	case ".png":
		return PNG, nil
	}
	return "", fmt.Errorf("%s ends in neither .svg nor .png; the ending chooses the format", path)
}

// Dimensions of a figure: the width, and the heights of the title and of each
// panel.
const (
	width       = 10 * vg.Inch
	titleHeight = 0.4 * vg.Inch
	panelHeight = 2.6 * vg.Inch
	legendWidth = 1.1 * vg.Inch
)

// WriteFile draws the figure into a file, in the format of its ending. A
// drawing that fails leaves no file of half a picture.
func (f *Figure) WriteFile(path string) error {
	format, err := FormatOf(path)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := f.Write(&b, format); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// Write draws the figure.
func (f *Figure) Write(w io.Writer, format Format) error {
	if err := f.Validate(); err != nil {
		return err
	}
	height := titleHeight + panelHeight*vg.Length(len(f.Panels))
	switch format {
	case SVG:
		c := vgsvg.New(width, height)
		if err := f.draw(draw.New(c)); err != nil {
			return err
		}
		_, err := c.WriteTo(w)
		return err
	case PNG:
		c := vgimg.New(width, height)
		if err := f.draw(draw.New(c)); err != nil {
			return err
		}
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
		return err
	}
	return fmt.Errorf("plot: format %q is unknown, want svg or png", format)
}

// draw puts the title above the panels and a legend beside each.
func (f *Figure) draw(c draw.Canvas) error {
	head := plot.New().Title.TextStyle
	head.XAlign, head.YAlign = draw.XCenter, draw.YTop
	c.FillText(head, vg.Point{X: c.Center().X, Y: c.Max.Y - 0.1*vg.Inch}, f.Title)

	body := draw.Crop(c, 0, -legendWidth, 0, -titleHeight)
	rows := make([][]*plot.Plot, len(f.Panels))
	legends := make([]plot.Legend, len(f.Panels))
	for i := range f.Panels {
		p, legend, err := f.panel(i)
		if err != nil {
			return err
		}
		rows[i], legends[i] = []*plot.Plot{p}, legend
	}
	tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadX: vg.Points(4), PadY: vg.Points(8), PadRight: vg.Points(6)}
	for i, canvases := range plot.Align(rows, tiles, body) {
		rows[i][0].Draw(canvases[0])
		side := canvases[0]
		side.Min.X, side.Max.X = side.Max.X+vg.Points(6), c.Max.X-vg.Points(4)
		legends[i].Draw(side)
	}
	return nil
}
