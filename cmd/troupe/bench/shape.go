package bench

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model"
)

// shape is a model with random weights in the shape of a real one.
type shape struct {
	name   string
	stored string // type of the weights in the file; "": that of weight-dtype
	write  string // GGUF file to write; "": a temporary file without data

	dir      string // of the temporary file; the caller removes it
	replaced []bench.Replaced
}

func (s *shape) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.name, "shape", "", "measure random weights in the shape of this model, in the type of --weight-dtype (default bf16): "+strings.Join(shapeNames(), ", "))
	flags.StringVar(&s.stored, "shape-type", "", "type in which the weights of --shape are stored; --weight-dtype then converts them as usual: "+strings.Join(storedNames(), ", "))
	flags.StringVar(&s.write, "write-gguf", "", "write the model of --shape to this new file and measure it from there, so that other engines can measure the same")
}

// mediumType is the mix of types in most files.
const mediumType = "q4_k_m"

func storedNames() []string {
	names := []string{mediumType}
	for _, d := range gpu.WeightDTypes() {
		names = append(names, d.String())
	}
	return names
}

func shapeNames() []string { return slices.Sorted(maps.Keys(ggufwrite.Shapes)) }

// apply writes a file with the shape and sets it as the model of the settings.
func (s *shape) apply(cfg *configs.Config, seed uint64) (err error) {
	m, ok := ggufwrite.Shapes[s.name]
	switch {
	case s.name == "" && s.write != "":
		return fmt.Errorf("--write-gguf requires --shape; use one of %s", strings.Join(shapeNames(), ", "))
	case s.name == "":
		return nil
	case cfg.Model != "":
		return fmt.Errorf("--shape %s and --model %s cannot be used together; remove one of them", s.name, cfg.Model)
	case !ok:
		return fmt.Errorf("--shape is %q; use one of %s", s.name, strings.Join(shapeNames(), ", "))
	}
	m.Type, m.Seed = gpu.BF16, seed
	switch {
	case s.stored == mediumType:
		m.Type, m.Medium = gpu.Q4_K, true
	case s.stored != "":
		if !slices.Contains(storedNames(), s.stored) {
			return fmt.Errorf("--shape-type is %q; use one of %s", s.stored, strings.Join(storedNames(), ", "))
		}
		if m.Type, err = gpu.ParseDType(s.stored); err != nil {
			return err
		}
	case cfg.CPU.WeightDType != "auto":
		if m.Type, err = gpu.ParseDType(cfg.CPU.WeightDType); err != nil {
			return err
		}
		cfg.CPU.WeightDType = "auto" // the file has this type already
	}
	cfg.ServedModelName = cmp.Or(cfg.ServedModelName, s.name)
	file := m.File()
	s.replaced = replaced(file)
	if s.write == "" {
		if s.dir, err = os.MkdirTemp("", "troupe-bench-"); err != nil {
			return fmt.Errorf("--shape: %w", err)
		}
		cfg.Model, cfg.Open.LoadFormat = filepath.Join(s.dir, s.name+model.GGUFExtension), model.LoadDummy
		if err := ggufwrite.CreateEmpty(cfg.Model, file); err != nil {
			return fmt.Errorf("--shape: %w", err)
		}
		return nil
	}
	if filepath.Ext(s.write) != model.GGUFExtension {
		return fmt.Errorf("--write-gguf %s: the name must end in %s", s.write, model.GGUFExtension)
	}
	if _, err := os.Lstat(s.write); err == nil {
		return fmt.Errorf("--write-gguf %s already exists; use another name, or measure it with --model", s.write)
	}
	if err := ggufwrite.Create(s.write, file); err != nil {
		return fmt.Errorf("--write-gguf: %w", err)
	}
	cfg.Model, cfg.Open.LoadFormat = s.write, model.LoadAuto
	return nil
}

// replaced lists the tensors that do not have the requested type.
func replaced(f ggufwrite.File) (all []bench.Replaced) {
	for _, t := range f.Tensors {
		if t.Type == t.Wanted {
			continue
		}
		r := bench.Replaced{Columns: t.Shape[1], Block: t.Wanted.BlockLen(), Wanted: t.Wanted.String(), Stored: t.Type.String()}
		i := slices.IndexFunc(all, func(o bench.Replaced) bool {
			return o.Columns == r.Columns && o.Wanted == r.Wanted && o.Stored == r.Stored
		})
		if i < 0 {
			i, all = len(all), append(all, r)
		}
		all[i].Count++
		if name := layers.ReplaceAllString(t.Name, "blk.*."); !slices.Contains(all[i].Tensors, name) {
			all[i].Tensors = append(all[i].Tensors, name)
		}
	}
	return all
}

// layers matches the prefix of the tensors of a layer.
var layers = regexp.MustCompile(`^blk\.\d+\.`)

// replacedNote describes them in one line; "" for none.
func replacedNote(all []bench.Replaced) string {
	var parts []string
	for _, r := range all {
		parts = append(parts, fmt.Sprintf("%d matrices (%s) are stored as %s instead of %s: their row length %d is not a multiple of its block size %d",
			r.Count, strings.Join(r.Tensors, ", "), r.Stored, r.Wanted, r.Columns, r.Block))
	}
	if parts == nil {
		return ""
	}
	return "some matrices do not have the requested type: " + strings.Join(parts, "; ")
}
