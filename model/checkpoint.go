// Package model opens a model: its configuration, its weights and its program.
// They are checked against each other before a device gets them.
//
// The parts are packages of their own: config reads the configuration, weights
// finds the tensors, arch emits the gpu.Program, exec runs the steps of an
// engine; tokenizer and chat turn text into tokens, and grammar says which tokens
// a text may go on with. The last three do not depend on weights and are opened
// separately. gguf reads files that contain all of
// this, and gguf/hf translates their contents.
package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/arch"
	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/weights"
)

// The values of OpenOptions.LoadFormat.
const (
	LoadAuto  = "auto"  // safetensors or GGUF, whichever there is
	LoadDummy = "dummy" // random weights; only the configuration is needed
)

// OpenOptions are options of Files.Open. The zero value opens the weights as they are.
type OpenOptions struct {
	LoadFormat string // LoadAuto or LoadDummy; empty means LoadAuto
	// Seed makes dummy weights; any value. Example 42.
	Seed uint64
	// ContextLength lowers the model's number of positions, in tokens; 0: the
	// model's. Hard: more than the model's is refused. Example 4096.
	ContextLength int
}

// Checkpoint is an opened model. Its fields are not to be changed.
type Checkpoint struct {
	Config  *config.Config
	Program *gpu.Program
	Weights weights.Source
	// Unused are tensors that the files have and the program does not read,
	// ascending; worth a line in the log.
	Unused []string
}

// newCheckpoint makes the program and checks the weights, which open finds, against it.
func newCheckpoint(config *config.Config, o OpenOptions, open func() (weights.Source, error)) (*Checkpoint, error) {
	program, err := arch.Program(config)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Config: config, Program: program}
	switch o.LoadFormat {
	case LoadDummy:
		c.Weights = weights.Dummy(program, config.DType, o.Seed)
		return c, nil
	case LoadAuto, "":
		if c.Weights, err = open(); err != nil {
			return nil, err
		}
		if err = c.match(); err != nil {
			c.Weights.Close()
			return nil, err
		}
		return c, nil
	}
	return nil, fmt.Errorf("load-format %q is not known; use %s or %s", o.LoadFormat, LoadAuto, LoadDummy)
}

// match compares the tensors of the files with those that the program needs.
func (c *Checkpoint) match() error {
	wanted := map[string]bool{}
	for _, w := range c.Program.Weights {
		wanted[w.Name] = true
		have, ok := c.Weights.Info(w.Name)
		if !ok {
			_, err := c.Weights.Tensor(w.Name) // for its error
			return err
		}
		if !slices.Equal(have.Shape, w.Shape) {
			return fmt.Errorf("%s: tensor %s has shape %v, but the configuration requires %v; download weights and configuration from the same place", have.File, have.Title(), have.Shape, w.Shape)
		}
		if _, err := have.Type(); err != nil {
			return err
		}
	}
	for _, name := range c.Weights.Names() {
		if wanted[name] || harmless(name, c.Config) {
			continue
		}
		var layer int
		if _, err := fmt.Sscanf(name, "model.layers.%d.", &layer); err == nil && layer < c.Config.Layers {
			// A bias or a norm that the configuration does not mention: results
			// would be wrong without an error.
			info, _ := c.Weights.Info(name)
			return fmt.Errorf("%s: tensor %s is not part of a %s with this configuration; download weights and configuration from the same place", info.File, info.Title(), c.Config.Architecture)
		}
		c.Unused = append(c.Unused, name)
	}
	return nil
}

// harmless tensors need not be read: the angles of rope, which are computed here,
// and a copy of the embedding if the output is tied to it.
func harmless(name string, c *config.Config) bool {
	return strings.HasSuffix(name, ".rotary_emb.inv_freq") || c.Tied && name == "lm_head.weight"
}

// WeightBytes is the size of the weights as they are stored.
func (c *Checkpoint) WeightBytes() int64 {
	n := int64(0)
	for _, w := range c.Program.Weights {
		if i, ok := c.Weights.Info(w.Name); ok {
			n += i.Bytes
		}
	}
	return n
}

// WeightDType is the element type that most of the weights have, by bytes; a
// device chooses the type of its KV pool by it.
func (c *Checkpoint) WeightDType() gpu.DType {
	bytes, most := map[gpu.DType]int64{}, gpu.F32
	for _, w := range c.Program.Weights {
		i, ok := c.Weights.Info(w.Name)
		if d, err := i.Type(); ok && err == nil {
			bytes[d] += i.Bytes
			if bytes[d] > bytes[most] || bytes[d] == bytes[most] && d < most {
				most = d
			}
		}
	}
	return most
}

// Hash identifies all parts of the model that results depend on: the program
// with its constants and the weights (see package weights for what is covered
// of large files). The first call may read the weights.
func (c *Checkpoint) Hash(ctx context.Context) (string, error) {
	w, err := c.Weights.Hash(ctx)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	// Without the context, which only limits: replicas may differ in it.
	fmt.Fprintf(h, "%s\n%d\n%+v\n%+v\n", w, c.Program.Vocab, c.Program.KV, c.Program.Weights)
	for _, op := range c.Program.Ops {
		fmt.Fprintf(h, "%T%+v\n", op, op)
	}
	kind, _, _ := strings.Cut(w, ":")
	return kind + ":" + hex.EncodeToString(h.Sum(nil)), nil
}

// Close frees the weights; a device keeps what it has loaded.
func (c *Checkpoint) Close() error { return c.Weights.Close() }
